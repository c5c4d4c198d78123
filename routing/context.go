package routing

import (
	"context"
	"errors"
)

// ErrNoSession is the error of a request whose context has neither a session nor
// [Without], where that is refused.
var ErrNoSession = errors.New("routing: no session in the context: use routing.NewContext, or routing.Without for a call that must not be routed")

var errNilContext = errors.New("routing: the context is nil: pass the caller's, or context.Background()")

type sessionKey struct{}

// sessionValue is what sessionKey holds; without hides any session further out.
type sessionValue struct {
	session Session
	without bool
}

// NewContext returns a context whose requests belong to s, whatever ctx said before:
// the innermost of NewContext and [Without] counts. A session that cannot travel is
// met by [Check].
func NewContext(ctx context.Context, s Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, &sessionValue{session: s})
}

// FromContext returns the session of ctx. There is none under [Without], in a nil
// context, and where the innermost session has the zero ID.
func FromContext(ctx context.Context) (Session, bool) {
	if v := valueFrom(ctx); v != nil && v.session.ID != "" {
		return v.session, true
	}
	return Session{}, false
}

// Without returns a context for a deliberate unrouted call, such as a model list or
// a title made on the side: nothing is sent that could touch the trajectory's pin.
func Without(ctx context.Context) context.Context {
	return context.WithValue(ctx, sessionKey{}, &sessionValue{without: true})
}

// Check returns nil if ctx has a usable session or is under [Without]. Otherwise it
// returns [ErrNoSession], or an *[IDError] for an ID that cannot travel.
func Check(ctx context.Context) error {
	if ctx == nil {
		return errNilContext
	}
	v := valueFrom(ctx)
	switch {
	case v == nil:
		return ErrNoSession
	case v.without:
		return nil
	case v.session.ID == "":
		return ErrNoSession
	}
	return v.session.check()
}

func valueFrom(ctx context.Context) *sessionValue {
	if ctx == nil {
		return nil
	}
	v, _ := ctx.Value(sessionKey{}).(*sessionValue)
	return v
}
