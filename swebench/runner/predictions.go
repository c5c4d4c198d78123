package runner

import (
	"errors"
	"maps"
	"os"
	"sync"

	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
)

// predictions are those of a preds.json, which is replaced as a whole.
type predictions struct {
	file string

	mu      sync.Mutex
	entries map[string]harness.Prediction
}

// openPredictions reads what an earlier process left, and makes sure that there is a file.
func openPredictions(file string) (*predictions, error) {
	p := &predictions{file: file}
	var err error
	if p.entries, err = harness.ReadPredictions(file); errors.Is(err, os.ErrNotExist) {
		p.entries = map[string]harness.Prediction{}
		err = p.write()
	}
	return p, err
}

func (p *predictions) write() error {
	return atomicfile.Write(p.file, harness.AppendPredictions(nil, p.entries))
}

func (p *predictions) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.entries[id]
	return ok
}

// set adds the prediction of an instance.
func (p *predictions) set(id string, prediction harness.Prediction) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, ok := p.entries[id]; ok && old == prediction {
		return nil
	}
	p.entries[id] = prediction
	return p.write()
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
