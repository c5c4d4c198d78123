package sandbox

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSandboxesAreMadeWhileOthersTidy(t *testing.T) {
	t.Parallel()
	f := folders{dir: t.TempDir()}
	done := make(chan struct{})
	var makers, tidiers sync.WaitGroup
	for range 2 {
		tidiers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					f.tidy(t.Context())
				}
			}
		})
		makers.Go(func() {
			for range 1000 {
				id, err := f.make(Spec{}, nil)
				_, _, lerr := f.load(id)
				assert.NoError(t, errors.Join(err, lerr, f.remove(id)))
			}
		})
	}
	makers.Wait()
	close(done)
	tidiers.Wait()
}
