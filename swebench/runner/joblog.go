package runner

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/service"
)

// A jobLog is the two logs of a service's run: what happened to the instances, without
// content. A child process that evaluates writes its own.
type jobLog struct {
	job   service.Job
	agent *phase.Log
	eval  *phase.Log
}

func newJobLog(j service.Job) (*jobLog, error) {
	log, err := j.Log(swebench.FileAgentLog, true)
	return &jobLog{job: j, agent: log}, err
}

func line(log *phase.Log, format string, args ...any) {
	_, _ = fmt.Fprintf(log, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
}

// progress is for [Config.Progress].
func (l *jobLog) progress(p Progress) {
	switch {
	case p.Phase == swebench.PhaseAgent && p.Instance != "":
		text := string(p.Status)
		if p.Reason != "" {
			text += ": " + p.Reason
		}
		line(l.agent, "%d of %d: %s: %s", p.Finished, p.Total, p.Instance, text)
	case p.Phase == swebench.PhaseAgent:
		line(l.agent, "%d of %d instances are finished", p.Finished, p.Total)
	}
}

// publish ends the log of the agents.
func (l *jobLog) publish() error { return l.agent.Publish() }

// conclude writes what came of the run.
func (l *jobLog) conclude(r Result) {
	if _, err := os.Lstat(l.job.Path(swebench.FileEvalLog)); err == nil || !r.evaluated {
		for _, reason := range r.Reasons {
			line(l.agent, "%s: %s", reason.Code, reason.Text)
		}
		return
	}
	log, err := l.job.Log(swebench.FileEvalLog, true)
	if err != nil {
		l.job.Warn("the log of the evaluation cannot be written: %v", err)
		return
	}
	l.eval = log
	line(log, "%d of %d instances have a prediction, %d are resolved", r.Submitted, r.Evaluated, r.Resolved)
	for _, reason := range append(r.Reasons, r.Notes...) {
		line(log, "%s: %s", reason.Code, reason.Text)
	}
}

func (l *jobLog) close() error {
	err := l.agent.Publish()
	if l.eval != nil {
		err = errors.Join(err, l.eval.Publish())
	}
	return err
}
