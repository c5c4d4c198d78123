package service

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
)

// writeWait is how long a client may take to read the next piece of a download.
const writeWait = time.Minute

// artifact answers GET /v1/runs/{id}/artifacts/{name}. The run is not pruned meanwhile.
func (s *Service) artifact(w http.ResponseWriter, req *http.Request, id, name string) {
	r := s.lease(id)
	if r == nil {
		refuse(w, http.StatusNotFound, "unknown run")
		return
	}
	defer s.release(r)
	if !swebench.IsArtifact(name) {
		refuse(w, http.StatusNotFound, "unknown artifact")
		return
	}
	f, err := atomicfile.Open(filepath.Join(r.dir, name))
	if err != nil {
		refuse(w, http.StatusNotFound, "the run has no such artifact")
		return
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		refuse(w, http.StatusNotFound, "the run has no such artifact")
		return
	}
	out := &patient{ResponseWriter: w, control: http.NewResponseController(w)}
	w.Header().Set("Cache-Control", "no-cache")
	if strings.HasSuffix(name, ".log") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
		if req.Method == http.MethodHead {
			return
		}
		// It was redacted when it was written. This is for logs that others have written.
		clean := r.secrets.Load().Writer(out)
		if _, err := io.Copy(clean, f); err == nil {
			_ = clean.Flush()
		} else {
			panic(http.ErrAbortHandler) // the client must not take the part for the whole
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()))
	http.ServeContent(out, req, name, info.ModTime(), f)
}

// lease finds a run and keeps it from being pruned until it is released.
func (s *Service) lease(id string) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	if r != nil {
		r.readers++
	}
	return r
}

func (s *Service) release(r *run) {
	s.mu.Lock()
	r.readers--
	s.mu.Unlock()
	s.wakePruner()
}

// patient gives the client time for each piece instead of for the whole.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(writeWait)) // where there is none it is not needed
	return p.ResponseWriter.Write(b)
}
