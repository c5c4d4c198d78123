package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"github.com/homing-go/homing/swebench/sandbox"
)

// stopLimit is how long the removal of a sandbox may take.
const stopLimit = time.Minute

// infraError is a failure of the infrastructure, patchError one that is the patch's own.
type infraError struct{ reason string }

func (e *infraError) Error() string { return e.reason }

type patchError struct{ reason string }

func (e *patchError) Error() string { return e.reason }

// errAmbiguous says that there is a verdict, and a doubt about it.
var errAmbiguous = errors.New("none of the row's tests is in the output of its tests: are the names, the command and the parser right?")

// instance grades one instance. It has a report of its own if the error is nil or
// errAmbiguous; else the error is a *patchError, or the infrastructure failed.
func (g *grading) instance(ctx context.Context, j job) (err error) {
	patch := g.predictions[j.row.InstanceID].Patch
	if err := os.MkdirAll(j.dir, 0o755); err != nil { //nolint:gosec // operators read logs
		return err
	}
	if err := atomicfile.Write(filepath.Join(j.dir, filePatch), []byte(patch)); err != nil {
		return err
	}
	log := &instanceLog{}
	defer func() {
		if err != nil {
			log.printf("%v", err)
		}
		text := []byte(g.run.Redact.Text(log.String()))
		err = errors.Join(err, atomicfile.Write(filepath.Join(j.dir, fileLog), text))
	}()
	box, err := g.Runtime.Start(ctx, j.spec)
	if err != nil {
		return &infraError{"its sandbox did not start: " + err.Error()}
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		if stopErr := box.Stop(ctx); stopErr != nil {
			g.run.Warn(g.run.Redact.Text("the sandbox of " + j.row.InstanceID + " may be left: " + stopErr.Error()))
		}
	}()
	log.printf("sandbox %s of the image %s started", box.ID(), j.spec.Image)
	p := &place{box: box, timeout: g.patchTimeout(), log: log}
	if err := p.applyPatch(ctx, patch); err != nil {
		return err
	}
	output, code, err := g.tests(ctx, p, j)
	if err != nil {
		return err
	}
	return g.judge(j, output, code)
}

// tests runs the tests of an instance and returns what they printed.
func (g *grading) tests(ctx context.Context, p *place, j job) (output qwen.Output, code int, err error) {
	script := j.row.EvalScript
	if script == "" {
		if err := p.applyTests(ctx, j.row.TestPatch, j.row.BaseCommit); err != nil {
			return output, 0, err
		}
		script = j.row.TestCommand
	}
	script = relocated(script, j.spec.Dir, sandbox.Dir(p.box))
	if err := atomicfile.Write(filepath.Join(j.dir, fileScript), []byte(script)); err != nil {
		return output, 0, err
	}
	begin := time.Now()
	limit := g.timeout()
	output, err = p.run(ctx, limit, qwen.Command{Args: []string{"bash", "-c", runScript}, Stdin: []byte(script), Merge: true})
	text := []byte(g.run.Redact.Text(string(output.Stdout)))
	timedOut := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
	if timedOut {
		text = fmt.Appendf(text, "\n\n%s %g seconds exceeded.", markTimeout, limit.Seconds())
	}
	if err := atomicfile.Write(filepath.Join(j.dir, fileOutput), text); err != nil {
		return output, 0, err
	}
	p.log.printf("the tests ran for %s", time.Since(begin).Round(time.Millisecond))
	switch {
	case timedOut:
		return output, 0, &patchError{reasonTimeout}
	case err != nil:
		return output, 0, lost(err)
	}
	return output, output.ExitCode, nil
}

// runScript runs the script on standard input as a file, so that what it runs cannot read
// the rest of it. One argument of a process could not hold all scripts.
const runScript = `f=$(mktemp) && cat > "$f" || exit 126; trap 'rm -f "$f"' EXIT; bash "$f" < /dev/null`

// judge makes the report of an instance.
func (g *grading) judge(j job, output qwen.Output, code int) error {
	id := j.row.InstanceID
	parser := ParserFor(j.row)
	if g.Parser != nil {
		parser = g.Parser(j.row)
	}
	status := parser(testOutput(string(output.Stdout)))
	tests, resolved := grade(j.row.FailToPass, j.row.PassToPass, status)
	switch {
	case !resolved && output.Cut:
		return &infraError{"the tests printed more than the sandbox keeps, so that some results are missing"}
	case len(status) == 0 && (code == 126 || code == 127):
		return &infraError{fmt.Sprintf("the tests could not be started: exit code %d, see %s", code, fileOutput)}
	}
	data, err := instanceReport(id, resolved, tests)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(j.dir, fileReport), data); err != nil {
		return err
	}
	known := func(name string) bool { return status[name] != Missing }
	if !slices.ContainsFunc(j.row.FailToPass, known) && !slices.ContainsFunc(j.row.PassToPass, known) {
		return errAmbiguous
	}
	return nil
}

// place is a sandbox with a limit for its commands.
type place struct {
	box     sandbox.Sandbox
	timeout time.Duration
	log     *instanceLog
}

func (p *place) run(ctx context.Context, limit time.Duration, cmd qwen.Command) (qwen.Output, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return p.box.Run(ctx, cmd)
}

// lost is a command that has no result.
func lost(err error) error {
	if errors.Is(err, sandbox.ErrGone) {
		return &infraError{"its sandbox was lost: " + err.Error()}
	}
	return &infraError{"its sandbox failed: " + err.Error()}
}

// instanceLog is the log of one instance, bounded.
type instanceLog struct{ bytes.Buffer }

func (l *instanceLog) printf(format string, args ...any) {
	const limit = 1 << 20
	if l.Len() < limit {
		text := fmt.Appendf(nil, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
		_, _ = io.Copy(l, bytes.NewReader(text[:min(len(text), limit)]))
	}
}
