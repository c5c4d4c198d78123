package routing

import "context"

// A Turn is what an agent loop and a retry layer know of a request. The zero value
// of each field means unknown.
type Turn struct {
	// Index numbers the turns of a trajectory from 1.
	Index int
	// Final tells that no turn of the trajectory follows.
	Final bool
	// Model is the name of the model that is asked.
	Model string
	// Attempt numbers the attempts at one request from 1. Last tells that the retry
	// layer will make no other one.
	Attempt int
	Last    bool
}

type turnKey struct{}

// WithTurn returns a context whose request is t. It replaces any turn of ctx.
func WithTurn(ctx context.Context, t Turn) context.Context {
	return context.WithValue(ctx, turnKey{}, &t)
}

// TurnFrom returns the turn of ctx, or the zero Turn.
func TurnFrom(ctx context.Context) Turn {
	if ctx != nil {
		if t, ok := ctx.Value(turnKey{}).(*Turn); ok {
			return *t
		}
	}
	return Turn{}
}
