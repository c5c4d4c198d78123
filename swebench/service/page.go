package service

import (
	"bytes"
	_ "embed" // the page
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/homing-go/homing/swebench"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"time": func(seconds float64) string {
		return time.UnixMicro(int64(seconds * 1e6)).UTC().Format("2006-01-02 15:04:05 UTC")
	},
}).Parse(pageText))

// A row is one run on the page.
type row struct {
	swebench.RunStatus
	Model string
	Took  string
}

// page answers GET / with a page for people: what runs, how far it is, and its files.
func (s *Service) page(w http.ResponseWriter, req *http.Request) {
	var rows []row
	active := 0
	for _, r := range s.all() {
		s.mu.Lock()
		line := row{RunStatus: r.status, Model: r.model}
		if r.active() {
			active++
		}
		s.mu.Unlock()
		end := now()
		if line.FinishedAt != nil {
			end = *line.FinishedAt
		}
		line.Took = time.Duration((end - line.CreatedAt) * 1e9).Round(time.Second).String()
		rows = append(rows, line)
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, map[string]any{"Runs": rows, "Active": active, "Slots": s.cfg.MaxConcurrentRuns}); err != nil {
		s.cfg.Logger.Error("the page cannot be made", "error", err)
		refuse(w, http.StatusInternalServerError, "the page cannot be made")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	if req.Method != http.MethodHead {
		_, _ = w.Write(b.Bytes())
	}
}
