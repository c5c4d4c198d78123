package runner

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"

	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
)

// predictions are those of a preds.json, which is replaced as a whole.
type predictions struct {
	file  string
	limit int // of bytes

	mu      sync.Mutex
	entries map[string]harness.Prediction
}

// openPredictions reads what an earlier process left, and makes sure that there is a file.
func openPredictions(file string) (*predictions, error) {
	p := &predictions{file: file, limit: harness.MaxPredictions}
	var err error
	if p.entries, err = harness.ReadPredictions(file); errors.Is(err, os.ErrNotExist) {
		p.entries = map[string]harness.Prediction{}
		err = p.write()
	}
	return p, err
}

func (p *predictions) write() error {
	data := harness.AppendPredictions(nil, p.entries)
	if len(data) > p.limit {
		return &fullError{len(data), p.limit}
	}
	return atomicfile.Write(p.file, data)
}

// A fullError says that a file with one more prediction could not be read by anybody.
type fullError struct{ size, limit int }

func (e *fullError) Error() string {
	return fmt.Sprintf("with its prediction the file would have %d bytes, and readers take %d; run fewer instances with one folder", e.size, e.limit)
}

func (p *predictions) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.entries[id]
	return ok
}

// set adds the prediction of an instance. After a *fullError the file is as it was, without
// an earlier prediction of it.
func (p *predictions) set(id string, prediction harness.Prediction) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, ok := p.entries[id]; ok && old == prediction {
		return nil
	}
	p.entries[id] = prediction
	err := p.write()
	if full := (*fullError)(nil); errors.As(err, &full) {
		delete(p.entries, id)
		if err := p.write(); err != nil {
			return err
		}
	}
	return err
}

// remove takes the prediction of an instance away.
func (p *predictions) remove(id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.entries[id]; !ok {
		return nil
	}
	delete(p.entries, id)
	return p.write()
}

// all returns a copy.
func (p *predictions) all() map[string]harness.Prediction {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.entries)
}
