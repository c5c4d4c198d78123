package qwen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

// Commands, views and submissions are rendered as the reference translation does.
func TestRenderMatchesTheReference(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/cases.json")
	require.NoError(t, err)
	var file caseFile
	strict(t, raw, &file)
	checked := 0
	for _, c := range file.Cases {
		if c.Layer != "translate" {
			continue
		}
		var want translateExpect
		strict(t, c.Expect, &want)
		var input translateInput
		strict(t, c.Input, &input)
		var upstream struct{ Status, Command, Unusable string }
		_ = decode(want.Upstream, &upstream)
		if want.Action == nil || !want.Same || upstream.Command == "" || upstream.Unusable != "" || input.Expand != nil {
			continue
		}
		if want.Action.Path != nil && !strings.Contains(upstream.Command, *want.Action.Path) && !strings.Contains(upstream.Command, "'"+*want.Action.Path) {
			continue // the reference keeps a relative path
		}
		require.Equal(t, []string{upstream.Command}, qwen.Render(want.Action.build(), "/testbed"), c.ID)
		checked++
	}
	require.Greater(t, checked, 20)
}

func (w *wantAction) build() qwen.Action {
	switch w.Op {
	case "exec":
		return qwen.Exec{Command: *w.Command}
	case "view":
		return qwen.View{Path: *w.Path, Start: w.Start, End: w.End}
	case "submit":
		return qwen.Submit{Paths: w.Paths}
	}
	return nil
}

// A rendered edit or write does to the file what the executor does, however long it is,
// and no command is longer than one argument may be.
func TestRenderedPayloads(t *testing.T) {
	t.Parallel()
	need.Programs(t, "sh", "git")
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is missing: rendered edits were not run")
	}
	long := strings.Repeat("0123456789abcdef\n", 20_000)
	for name, test := range map[string]struct {
		before, want string
		action       func(path string) qwen.Action
	}{
		"write":         {want: "x'\"\\\n\x00é", action: func(p string) qwen.Action { return qwen.Write{Path: p, Content: "x'\"\\\n\x00é"} }},
		"write nothing": {want: "", action: func(p string) qwen.Action { return qwen.Write{Path: p} }},
		"write much":    {want: long, action: func(p string) qwen.Action { return qwen.Write{Path: p, Content: long} }},
		"edit":          {before: "a = 1\r\nb\r\n", want: "a = 1\r\nc\r\n", action: func(p string) qwen.Action { return qwen.Edit{Path: p, Old: "b", New: "c"} }},
		"edit lines":    {before: "a\r\nb\r\n", want: "c\r\nd\r\n", action: func(p string) qwen.Action { return qwen.Edit{Path: p, Old: "a\nb", New: "c\nd"} }},
		"edit much":     {before: "<" + long + ">", want: "<" + long + "x>", action: func(p string) qwen.Action { return qwen.Edit{Path: p, Old: long, New: long + "x"} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "new dir", "it's -x.py")
			if test.before != "" {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(test.before), 0o600))
			}
			commands := qwen.Render(test.action(path), "")
			for _, command := range commands {
				require.LessOrEqual(t, len(command), 131_071)
				shell(t, "/", command)
			}
			require.Equal(t, test.want, string(must(os.ReadFile(path))))
		})
	}
	path := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(path, []byte("x x"), 0o600))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", qwen.Render(qwen.Edit{Path: path, Old: "x", New: "y"}, "")[0])
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "2 times")
	require.Equal(t, "x x", string(must(os.ReadFile(path))))
}
