package harness

import (
	"context"

	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/sandbox"
)

// Describe tells what sandbox a row gets: what spec says; if that is nil, what the runtime
// says, if it has a method Spec of that form; else the row's image for an architecture, see
// [dataset.ImageFor], and nothing else.
func Describe(
	ctx context.Context, runtime sandbox.Runtime, spec func(context.Context, dataset.Row) (sandbox.Spec, error), arch string, row dataset.Row,
) (sandbox.Spec, error) {
	if spec != nil {
		return spec(ctx, row)
	}
	if r, ok := runtime.(interface {
		Spec(ctx context.Context, row dataset.Row) (sandbox.Spec, error)
	}); ok {
		return r.Spec(ctx, row)
	}
	return sandbox.Spec{Image: dataset.ImageFor(row, arch)}, nil
}
