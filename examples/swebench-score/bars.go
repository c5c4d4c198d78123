package main

import (
	"io"

	"github.com/homing-go/homing/swebench/scorer"
	"github.com/schollz/progressbar/v3"
)

// bars shows the phase that is under way.
type bars struct {
	w    io.Writer
	name string
	bar  *progressbar.ProgressBar
}

func (b *bars) show(p scorer.Progress) {
	name, now := "agents", p.Agent
	if p.Eval.Open {
		name, now = "evaluation", p.Eval
	}
	if b.bar != nil && (p.Done || name != b.name) {
		_ = b.bar.Exit()
		_, _ = io.WriteString(b.w, "\n")
		b.bar = nil
	}
	if p.Done || !now.Open {
		return
	}
	if b.bar == nil {
		b.name = name
		b.bar = progressbar.NewOptions(now.Total, progressbar.OptionSetWriter(b.w), progressbar.OptionSetDescription(name), progressbar.OptionShowCount(), progressbar.OptionSetWidth(40))
	}
	b.bar.ChangeMax(now.Total)
	_ = b.bar.Set(min(now.Completed, now.Total))
}
