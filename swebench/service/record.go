package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"github.com/homing-go/homing/swebench/redact"
)

// fileRecord is what the service itself has to know of a run after a restart.
const fileRecord = ".service.json"

const (
	maxRecordFile = 64 << 10
	maxStatusFile = 64 << 20
)

// A record is a submission as it is stored: without secrets.
type record struct {
	request swebench.RunRequest
	redact  *redact.Redactor
	key     string // never stored
	note    note
}

// A note says what the stored request does not.
type note struct {
	IdempotencyHash string `json:"idempotency_key_sha256,omitempty"`
	HasKey          bool   `json:"endpoint_api_key"` // there was one
	// Altered is set when more of the request than its key and the endpoint's URL was a
	// secret: the run cannot be resumed from the stored request.
	Altered bool `json:"altered"`
}

// describe takes the secrets out of a request.
func (s *Service) describe(request *swebench.RunRequest, keyHash string) (record, []byte) {
	key := ""
	if request.EndpointAPIKey != nil {
		key = *request.EndpointAPIKey
	}
	r := redact.New(s.cfg.AuthToken, key)
	rec := record{request: *request, redact: r, key: key, note: note{IdempotencyHash: keyHash, HasKey: key != ""}}
	rec.request.EndpointAPIKey = ptr(r.Mark())
	rec.request.EndpointURLs = []string{r.URL(request.EndpointURLs[0])}
	rec.request.ModelName = r.Name(request.ModelName)
	rec.request.Split = r.Name(request.Split)
	rec.request.EvaluatedInstanceIDs = make([]string, len(request.EvaluatedInstanceIDs))
	rec.request.GenerationParams = r.JSON(request.GenerationParams)
	rec.note.Altered = rec.request.ModelName != request.ModelName || rec.request.Split != request.Split ||
		string(rec.request.GenerationParams) != string(request.GenerationParams)
	for i, id := range request.EvaluatedInstanceIDs {
		rec.request.EvaluatedInstanceIDs[i] = r.Name(id)
		rec.note.Altered = rec.note.Altered || rec.request.EvaluatedInstanceIDs[i] != id
	}
	return rec, rec.stored()
}

// stored is the content of the request file.
func (rec *record) stored() []byte {
	data, _ := rec.request.MarshalJSON() // its parts were checked
	return append(data, '\n')
}

// store makes the run's folder. The status comes last: without it the submission was not
// accepted.
func (s *Service) store(r *run, rec record, stored []byte) error {
	if err := os.Mkdir(r.dir, 0o755); err != nil { //nolint:gosec // operators read artifacts
		return err
	}
	if err := atomicfile.Write(filepath.Join(r.dir, swebench.FileRequest), stored); err != nil {
		return err
	}
	data, err := json.Marshal(rec.note)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(r.dir, fileRecord), append(data, '\n')); err != nil {
		return err
	}
	return s.save(r)
}

// recall reads what store has written.
func recall(dir string) (request *swebench.RunRequest, stored []byte, n note, err error) {
	if stored, err = atomicfile.Read(filepath.Join(dir, swebench.FileRequest), 2*swebench.MaxRequestBytes); err != nil {
		return nil, nil, n, err
	}
	data, err := atomicfile.Read(filepath.Join(dir, fileRecord), maxRecordFile)
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err != nil {
		return nil, nil, n, fmt.Errorf("%s: %w", fileRecord, err)
	}
	var r swebench.RunRequest
	if err := r.UnmarshalJSON(withoutUserinfo(stored)); err != nil {
		return nil, nil, n, err
	}
	r.EndpointAPIKey = nil
	return &r, stored, n, nil
}

// withoutUserinfo drops the credentials of the endpoint's URL from a stored request: no
// one uses them, and with the mark in it the URL is none.
func withoutUserinfo(stored []byte) []byte {
	if rawjson.Valid(stored) != nil {
		return stored
	}
	list := rawjson.Elements(rawjson.Get(stored, "endpoint_urls"))
	if !list.Next() {
		return stored
	}
	scheme, rest, _ := strings.Cut(rawjson.Text(list.Value), "://")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	return bytes.Replace(stored, list.Value, rawjson.AppendQuoted(nil, scheme+"://"+rest[at+1:]), 1)
}
