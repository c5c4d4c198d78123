package sandbox

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// lookAround is how scripts in a container read /proc: all reads a file, look what a process is.
const lookAround = `
all() { s=; while IFS= read -r x || [ -n "$x" ]; do s="$s $x"; done 2>/dev/null <"$1"; }
look() { state=$1 parent=$2 session=$4 start=${20}; }
`

// endAll is the shell script that ends a command in a container, with the builtins of a POSIX
// shell alone. A process belongs to the command if it is its first, or began after it and
// carries its mark, or is the child of one that was ended, or has lost its parent and carries
// the mark of no other command that runs: neither setsid, nor a cleared environment, nor a
// second fork gets away.
// It exits with 1 when the processes multiply faster than it ends them.
const endAll = lookAround + `
mark=$1 since=$2 first=$3 others=$4 dead=' ' round=0
theirs() {
	for o in $others; do case $e in *"HOMING_EXEC=$o"*) return 0; esac; done
	return 1
}
while [ "$round" -lt 60 ]; do
	round=$((round+1)) found=
	for d in /proc/[0-9]*; do
		p=${d#/proc/}
		if [ "$p" = 1 ] || [ "$p" = $$ ]; then continue; fi
		{ all "$d/stat"; } 2>/dev/null || continue
		set -f; look ${s##*) }; set +f
		case $state in Z | X | '') continue; esac
		if [ "$session" = 1 ] || [ "$start" -lt "$since" ]; then continue; fi
		if [ "$p:$start" = "$first:$since" ]; then dead="$dead$p "; fi
		case $dead in
		*" $p "* | *" $parent "*) ;;
		*)
			e=; { all "$d/environ"; } 2>/dev/null; e=$s
			case $e in
			*"HOMING_EXEC=$mark"*) ;;
			*)
				if [ "$parent" != 1 ] || theirs; then continue; fi
			esac
		esac
		found=1 dead="$dead$p "
		kill -9 "$p" 2>/dev/null
	done
	[ -n "$found" ] || exit 0
done
exit 1
`

// A container is a [Sandbox] of [Docker].
type container struct {
	runner

	engine *Docker
	id     string
	limits string

	stop    sync.Mutex
	removed bool
}

var _ Sandbox = (*container)(nil)

func (d *Docker) container(id, dir, limits string) *container {
	c := &container{engine: d, id: id, limits: limits}
	c.runner = runner{place: c, dir: dir, output: d.cfg.MaxOutput}
	return c
}

// ID implements [Sandbox].
func (c *container) ID() string { return c.id }

// Stop implements [Sandbox].
func (c *container) Stop(ctx context.Context) error {
	_ = c.close("the container " + short(c.id) + " was stopped")
	c.stop.Lock()
	defer c.stop.Unlock()
	if !c.removed {
		if err := c.engine.Remove(context.WithoutCancel(ctx), c.id); err != nil {
			return err
		}
		c.removed = true
	}
	c.idle.Wait()
	return nil
}

// process implements place.
func (c *container) process(j *job, cmd Command) (args, env []string) {
	args = append(args, c.engine.cfg.Command...)
	args = append(args, "exec", "--workdir=/", "--env=HOMING_EXEC="+j.nonce)
	for _, name := range slices.Sorted(maps.Keys(cmd.Env)) {
		args = append(args, "--env="+name+"="+cmd.Env[name])
	}
	if cmd.Stdin != nil {
		args = append(args, "--interactive")
	}
	args = append(args, c.id)
	return append(args, wrapped(cmd, true, c.limits)...), nil
}

// end implements place. The client ends when the command has.
func (c *container) end(ctx context.Context, j *job) {
	if c.closed() { // its removal ends everything
		return
	}
	select { // what has not begun cannot be found yet
	case <-j.began:
	case <-time.After(endTime / 4):
	}
	if j.hasBegun() {
		others := strings.Join(c.others(j), " ")
		if _, err := c.engine.call(ctx, endTime/4, "exec", "--user=0", "--workdir=/", c.id,
			"/bin/sh", "-c", endAll, "sh", j.nonce, j.since, j.first, others); err == nil {
			return
		}
	}
	if !c.clear(ctx) {
		// The command may run on, and nothing here can be relied on any more.
		_ = c.close("a command in the container " + short(c.id) + " could not be ended")
		_ = c.engine.Remove(context.WithoutCancel(ctx), c.id)
	}
}

// clear implements place: the first process of the container ends all others.
func (c *container) clear(ctx context.Context) bool {
	_, err := c.engine.call(ctx, endTime/4, "kill", "--signal=USR1", c.id)
	return err == nil
}

// fault implements place.
func (c *container) fault(ctx context.Context, j *job, code int, stderr []byte) error {
	began := j.hasBegun()
	if began && !suspicious(j, code, stderr) {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	state, err := c.engine.state(ctx, c.id)
	for wait := 0; began && err == nil && state == "running" && wait < 3; wait++ {
		time.Sleep(100 * time.Millisecond) // one that is being removed is listed as running at first
		state, err = c.engine.state(ctx, c.id)
	}
	switch {
	case err != nil:
		return err
	case state != "running":
		return c.close("the container " + short(c.id) + " is " + state)
	case began:
		return nil
	}
	return &EngineError{Op: c.engine.op([]string{"exec"}), ExitCode: code, Stderr: lastWords(stderr)}
}

// suspicious tells that an exit code may be the client's own.
func suspicious(j *job, code int, stderr []byte) bool {
	switch code {
	case 125, 137, 143, 255:
		return true
	case 1: // of the client if it speaks, and it speaks alone where the streams are merged
		return len(stderr) > 0 && (j.merge || bytes.Contains(stderr, []byte("daemon")) || bytes.Contains(stderr, []byte("ontainer")))
	}
	return false
}
