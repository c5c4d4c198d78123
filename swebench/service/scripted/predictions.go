package scripted

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
)

const maxPreds = 256 << 20

// predictions are those of swe_bench_output/preds.json; entries that it has keep their bytes.
type predictions struct {
	name    string
	order   []string
	entries map[string][]byte
}

// readPredictions reads a predictions file. One that does not exist has none.
func readPredictions(name string) (*predictions, error) {
	p := &predictions{name: name, entries: map[string][]byte{}}
	data, err := atomicfile.Read(name, maxPreds)
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	} else if err != nil {
		return nil, err
	}
	if err := rawjson.Valid(data); err != nil {
		return nil, fmt.Errorf("%s/%s: %w", swebench.DirOutput, swebench.FilePreds, err)
	}
	if rawjson.Kind(data) != '{' {
		return nil, fmt.Errorf("%s/%s is not an object", swebench.DirOutput, swebench.FilePreds)
	}
	for o := rawjson.Members(data); o.Next(); {
		p.set(string(o.Key), o.Value)
	}
	return p, nil
}

func (p *predictions) has(id string) bool { return p.entries[id] != nil }

func (p *predictions) ids() []string { return p.order }

func (p *predictions) set(id string, entry []byte) {
	if !p.has(id) {
		p.order = append(p.order, id)
	}
	p.entries[id] = entry
}

// add adds the prediction of one instance.
func (p *predictions) add(id, model string, patch *string) {
	b := rawjson.AppendQuoted([]byte(`{"model_name_or_path": `), model)
	b = rawjson.AppendQuoted(append(b, `, "instance_id": `...), id)
	b = append(b, `, "model_patch": `...)
	if patch == nil {
		b = append(b, "null"...)
	} else {
		b = rawjson.AppendQuoted(b, *patch)
	}
	p.set(id, append(b, '}'))
}

func (p *predictions) write() error {
	b := []byte("{")
	for i, id := range p.order {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendQuoted(append(b, "\n  "...), id)
		b = append(append(b, ": "...), p.entries[id]...)
	}
	return atomicfile.Replace(p.name, append(b, "\n}\n"...))
}

func newEvalRunID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return "endpoints_" + hex.EncodeToString(b[:])
}
