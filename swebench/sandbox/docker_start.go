package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// ours is the label of every container that is made here; the others tell what of its Spec
	// is done by the wrapper.
	ours       = "homing.sandbox"
	dirLabel   = "homing.sandbox.dir"
	limitLabel = "homing.sandbox.ulimit"
)

// waitForEnd is what a container runs: it ends with its lifetime, and on SIGUSR1 it ends all
// other processes. Being the first process it is out of reach for what it does not trap, but a
// shell may trap by itself, so it says so. Its lifetime does not begin anew when a command ends
// the process it waits with, and when there is no sleep any more it waits with a process that
// has stopped itself. What a command writes to its output is not to fill the engine's logs.
const waitForEnd = `trap '' HUP INT QUIT TERM; trap 'kill -9 -1' USR1; exec >/dev/null 2>&1
now() { n=0; read -r n x </proc/uptime; n=${n%%.*}; }
now; end=$((n+$1))
while :; do
	now; [ "$n" -lt "$end" ] || exit 0
	sleep $((end-n)) & c=0; wait $! || c=$?
	if [ $c = 0 ]; then exit 0; fi
	if [ $c -le 128 ]; then (read -r p x </proc/self/stat; kill -STOP "$p") & wait $!; fi
done`

// Start implements [Runtime]. The image has to be here: see Prepare.
func (d *Docker) Start(ctx context.Context, spec Spec) (Sandbox, error) {
	spec, err := spec.checked()
	if err == nil {
		err = checkImage(spec.Image)
	}
	if err != nil {
		return nil, &StartError{Image: spec.Image, Err: err}
	}
	if spec.Name == "" {
		spec.Name = "homing-" + newNonce()[:16]
	}
	out, err := d.call(ctx, d.cfg.StartTimeout, d.runArgs(spec)...)
	id := strings.TrimSpace(string(out))
	if err == nil && checkID(id) != nil {
		err = &EngineError{Op: "run", Stderr: lastWords(out), Err: errors.New("the answer is no ID")}
	}
	if err != nil {
		// What failed half-way is found by its name; a name that was taken is somebody else's.
		if !strings.Contains(err.Error(), "already in use") {
			err = errors.Join(err, d.Remove(context.WithoutCancel(ctx), spec.Name))
		}
		return nil, &StartError{Image: spec.Image, Err: err}
	}
	c := d.container(id, spec.Dir, fileLimit(spec))
	if err := d.tryOut(ctx, c, spec); err != nil {
		return nil, &StartError{Image: spec.Image, Err: errors.Join(err, c.Stop(ctx))}
	}
	return c, nil
}

// runArgs are the arguments that start the container.
func (d *Docker) runArgs(spec Spec) []string {
	args := []string{
		"run", "--detach", "--pull=never", "--name=" + spec.Name, "--workdir=/", "--entrypoint=/bin/sh",
		"--stop-signal=SIGKILL", "--label=" + ours + "=1", "--label=" + dirLabel + "=" + spec.Dir,
	}
	for _, key := range slices.Sorted(maps.Keys(spec.Labels)) {
		args = append(args, "--label="+key+"="+spec.Labels[key])
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		args = append(args, "--env="+name+"="+spec.Env[name])
	}
	if spec.MemoryBytes > 0 {
		bytes := strconv.FormatInt(spec.MemoryBytes, 10)
		args = append(args, "--memory="+bytes, "--memory-swap="+bytes)
	}
	if spec.PIDs > 0 {
		args = append(args, "--pids-limit="+strconv.Itoa(spec.PIDs))
	}
	if limit := fileLimit(spec); limit != "" {
		args = append(args, "--label="+limitLabel+"="+limit)
	}
	args = append(args, d.cfg.RunArgs...)
	seconds := int64((spec.Lifetime + time.Second - 1) / time.Second)
	return append(args, spec.Image, "-c", waitForEnd, "sh", strconv.FormatInt(seconds, 10))
}

// fileLimit is set by the wrapper: an --ulimit would replace all that the engine is configured
// to set.
func fileLimit(spec Spec) string { return Spec{FileBytes: spec.FileBytes}.ulimits() }

// tryOut runs a first command, which makes the folder to start in.
func (d *Docker) tryOut(ctx context.Context, c *container, spec Spec) error {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.StartTimeout)
	defer cancel()
	res, err := c.script(ctx, nil, `mkdir -p "$1"`, spec.Dir)
	if err != nil {
		if logs, lerr := d.call(ctx, d.cfg.CallTimeout, "logs", "--tail=20", c.id); lerr == nil && len(logs) > 0 {
			err = fmt.Errorf("%w (it printed: %s)", err, lastWords(logs))
		}
		return err
	}
	if res.ExitCode != 0 {
		return fmt.Errorf("its folder %s cannot be made: %s", spec.Dir, lastWords(res.Stderr.Bytes()))
	}
	return nil
}
