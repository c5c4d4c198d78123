package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// DockerConfig configures a [Docker]. The zero value drives the docker command.
type DockerConfig struct {
	// Command is the engine's command line client, podman for example, with arguments before
	// the subcommand if there are any. nil means docker.
	Command []string
	// CommandFromEnv lets the variable MSWEA_DOCKER_EXECUTABLE, if it is set, replace the
	// program of Command.
	CommandFromEnv bool
	// RunArgs are further arguments of the run command, --network=none for example. They are
	// not checked.
	RunArgs []string
	// Pulls bounds the number of pulls at once; 0 means 4. PullTimeout bounds each one; 0
	// means an hour.
	Pulls       int
	PullTimeout time.Duration
	// MinFree is what must be free on the engine's disk after the pulls, in bytes, if that
	// disk can be seen from here; 0 means 5 GiB. ImageBytes is what one image that is missing
	// may add; 0 means 2 GiB. Below 0 both mean nothing.
	MinFree, ImageBytes int64
	// CallTimeout bounds each other call of the client; 0 means 30 seconds. StartTimeout
	// bounds the start of a container; 0 means 2 minutes.
	CallTimeout, StartTimeout time.Duration
	// MaxOutput bounds what is kept of each stream of a command, in bytes; 0 means 16 MiB.
	MaxOutput int
}

// Docker runs sandboxes as containers of Docker, or of an engine with the same command line,
// such as Podman. It is safe for concurrent use. It never removes an image.
//
// A container runs a shell that waits for its lifetime to end. When the command of a task has
// to end, all processes that descend from it are ended by a second one; if that does not work,
// because the container has no room for one more process, all processes of the container are.
//
// Podman may lose the output of a command that ends before it has read all of its input, and
// with it the proof that it began: that is an [*EngineError]. Such input goes in as a file.
type Docker struct {
	cfg DockerConfig

	mu     sync.Mutex
	pulled []string
}

var _ Runtime = (*Docker)(nil)

// NewDocker returns a runtime. It checks that the client is installed and calls nothing.
func NewDocker(cfg DockerConfig) (*Docker, error) {
	cfg.Command = append([]string(nil), cfg.Command...)
	cfg.RunArgs = append([]string(nil), cfg.RunArgs...)
	if len(cfg.Command) == 0 {
		cfg.Command = []string{"docker"}
	}
	if name := os.Getenv("MSWEA_DOCKER_EXECUTABLE"); cfg.CommandFromEnv && name != "" {
		cfg.Command[0] = name
	}
	program, err := exec.LookPath(cfg.Command[0])
	if err != nil {
		return nil, fmt.Errorf("sandbox: the container engine's client is missing: %w; install it, or name another by DockerConfig.Command", err)
	}
	cfg.Command[0] = program
	cfg.Pulls = or(cfg.Pulls, 4)
	cfg.PullTimeout = or(cfg.PullTimeout, time.Hour)
	cfg.CallTimeout = or(cfg.CallTimeout, 30*time.Second)
	cfg.StartTimeout = or(cfg.StartTimeout, 2*time.Minute)
	cfg.MinFree = or(cfg.MinFree, 5<<30)
	cfg.ImageBytes = or(cfg.ImageBytes, 2<<30)
	return &Docker{cfg: cfg}, nil
}

// or is the value, or the default for zero.
func or[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}

// maxAnswer is more than the engine answers to one call.
const maxAnswer = 64 << 20

// call runs the client. What it prints is returned also when it fails.
func (d *Docker) call(ctx context.Context, limit time.Duration, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	argv := append(append([]string(nil), d.cfg.Command...), args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // the arguments are checked
	f := &flood{left: 1 << 62}
	stdout, stderr := &keeper{half: maxAnswer, flood: f}, &keeper{half: 4 << 10, flood: f}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = drainTime
	ownGroup(cmd)
	cmd.Cancel = func() error { endGroup(cmd.Process.Pid); return nil }
	err := cmd.Run()
	out, words := stdout.printed(), lastWords(stderr.printed().Bytes())
	if words == "" { // some say there what failed
		words = lastWords(out.Bytes())
	}
	switch {
	case ctx.Err() != nil && err != nil:
		return out.Bytes(), &EngineError{Op: d.op(args), ExitCode: -1, Stderr: words, Err: ctx.Err()}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		e := &EngineError{Op: d.op(args), ExitCode: -1, Stderr: words}
		if cmd.ProcessState == nil {
			e.Err = err
		} else {
			e.ExitCode = cmd.ProcessState.ExitCode()
		}
		return out.Bytes(), e
	case out.Omitted > 0:
		return nil, &EngineError{Op: d.op(args), Err: fmt.Errorf("the answer is longer than %d bytes", maxAnswer)}
	}
	return out.Bytes(), nil
}

// op is what is told of a call: nothing that could be a secret.
func (d *Docker) op(args []string) string {
	name := d.cfg.Command[0]
	return name[strings.LastIndexByte(name, '/')+1:] + " " + args[0]
}

// Pulled lists the images that Prepare fetched, as opposed to those that were there.
func (d *Docker) Pulled() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.pulled...)
}
