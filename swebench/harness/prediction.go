package harness

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench"
)

// MaxPredictions is how many bytes a file of predictions may have.
const MaxPredictions = 256 << 20

// A Prediction is what an agent left of one instance.
type Prediction struct {
	// Model is the name of the model, as it was asked for.
	Model string
	// Patch is the diff. Empty, it counts as submitted and is not run.
	Patch string
	// Failure tells, without secrets, how the infrastructure failed the agent: the endpoint
	// was down, the sandbox was lost. "" means that what the agent left is its own.
	Failure string
}

// ReadPredictions reads a preds.json: an object of predictions by instance, or a list of
// them. A null patch is an empty one.
func ReadPredictions(name string) (map[string]Prediction, error) {
	f, err := os.Open(name) //nolint:gosec // the caller names the file
	if err != nil {
		return nil, fmt.Errorf("predictions: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, MaxPredictions+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("predictions: %w", err)
	case len(data) > MaxPredictions:
		return nil, fmt.Errorf("predictions %s: it has more than %d bytes, which is the limit", name, MaxPredictions)
	}
	predictions, err := parsePredictions(data)
	if err != nil {
		return nil, fmt.Errorf("predictions %s: %w", name, err)
	}
	return predictions, nil
}

func parsePredictions(data []byte) (map[string]Prediction, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8")
	}
	if err := rawjson.Valid(data); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	predictions := map[string]Prediction{}
	add := func(where, key string, value []byte) error {
		id := rawjson.Text(rawjson.Get(value, "instance_id"))
		patch := rawjson.Get(value, "model_patch")
		switch kind := rawjson.Kind(patch); {
		case rawjson.Kind(value) != '{':
			return fmt.Errorf("%s is not an object", where)
		case key != "" && id != "" && id != key:
			return fmt.Errorf("%s is that of the instance %q", where, id)
		case kind != '"' && kind != 'n' && kind != 0:
			return fmt.Errorf("%s: model_patch is not a text", where)
		}
		if id == "" {
			id = key
		}
		if fault := swebench.InstanceIDFault(id); fault != "" {
			return fmt.Errorf("%s: the instance's ID %s", where, fault)
		}
		if _, ok := predictions[id]; ok {
			return fmt.Errorf("%s: the instance %q is there twice", where, id)
		}
		predictions[id] = Prediction{Model: rawjson.Text(rawjson.Get(value, "model_name_or_path")), Patch: rawjson.Text(patch)}
		return nil
	}
	switch rawjson.Kind(data) {
	case '{':
		for o := rawjson.Members(data); o.Next(); {
			if err := add(fmt.Sprintf("member %q", o.Key), string(o.Key), o.Value); err != nil {
				return nil, err
			}
		}
	case '[':
		n := 0
		for a := rawjson.Elements(data); a.Next(); {
			n++
			if err := add(fmt.Sprintf("element %d", n), "", a.Value); err != nil {
				return nil, err
			}
		}
	default:
		return nil, errors.New("it is neither an object nor a list")
	}
	return predictions, nil
}

// AppendPredictions appends predictions in the form of a preds.json, in the order of their
// IDs.
func AppendPredictions(dst []byte, predictions map[string]Prediction) []byte {
	dst = append(dst, '{')
	for i, id := range slices.Sorted(maps.Keys(predictions)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		p := predictions[id]
		dst = append(rawjson.AppendQuoted(append(dst, "\n  "...), id), `: {"model_name_or_path": `...)
		dst = append(rawjson.AppendQuoted(dst, p.Model), `, "instance_id": `...)
		dst = append(rawjson.AppendQuoted(dst, id), `, "model_patch": `...)
		dst = append(rawjson.AppendQuoted(dst, p.Patch), '}')
	}
	return append(dst, "\n}\n"...)
}
