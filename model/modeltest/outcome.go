package modeltest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// An outcome tells, in the words of the file, how an exchange ended that did not end
// well. The texts of errors are not kept: they name sockets, which are others in the
// next run.
type outcome string

const (
	whole    outcome = ""
	cut      outcome = "cut by its reader"
	canceled outcome = "canceled"
	deadline outcome = "deadline exceeded"
	timedOut outcome = "timeout"
	failed   outcome = "other failure"
)

// failures are the errors that come back in a replay. The first that fits counts.
var failures = [...]struct {
	outcome
	err error
}{
	{canceled, context.Canceled},
	{deadline, context.DeadlineExceeded},
	{timedOut, os.ErrDeadlineExceeded},
	{"connection reset", syscall.ECONNRESET},
	{"connection refused", syscall.ECONNREFUSED},
	{"broken pipe", syscall.EPIPE},
	{"unexpected EOF", io.ErrUnexpectedEOF},
	{"EOF", io.EOF},
	{failed, errors.New("the transport failed when this was recorded")},
}

// outcomeOf classes the error of a transport or of a body.
func outcomeOf(ctx context.Context, err error) outcome {
	if ctx.Err() != nil { // the error may be the cause that the caller gave
		err = ctx.Err()
	}
	for _, f := range failures {
		if errors.Is(err, f.err) {
			return f.outcome
		}
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return timedOut
	}
	return failed
}

// err is what a replay fails with; nil for an outcome that is none.
func (o outcome) err() error {
	for _, f := range failures {
		if f.outcome == o {
			return f.err
		}
	}
	return nil
}

func (o outcome) known() bool { return o == whole || o == cut || o.err() != nil }

// waits reports whether it was the caller who ended the exchange.
func (o outcome) waits() bool { return o == canceled || o == deadline }
