package dataset_test

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench/dataset"
	"github.com/stretchr/testify/require"
)

// A hub is a server as the common ones are, with faults to order.
type hub struct {
	*httptest.Server
	mu     sync.Mutex
	files  map[string]string // by path
	git    map[string]bool   // those that are not large
	ranges []string          // Range of each request for a file, "" without
	tokens []string
	fault  func(w http.ResponseWriter, r *http.Request, body string) bool // true: answered
	lists  atomic.Int32
}

func newHub(t *testing.T, files map[string]string) *hub {
	t.Helper()
	h := &hub{files: files, git: map[string]bool{}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens = append(h.tokens, r.Header.Get("Authorization"))
	if path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/datasets/own/rows/tree/"); ok {
		h.lists.Add(1)
		h.list(w, path)
		return
	}
	_, path, ok := strings.Cut(r.URL.Path, "/datasets/own/rows/resolve/rev/")
	body, known := h.files[path]
	if !ok || !known {
		http.NotFound(w, r)
		return
	}
	h.ranges = append(h.ranges, r.Header.Get("Range"))
	if h.fault != nil && h.fault(w, r, body) {
		return
	}
	http.ServeContent(w, r, path, time.Time{}, strings.NewReader(body))
}

func (h *hub) list(w http.ResponseWriter, revision string) {
	if revision != "rev" && len(revision) != 40 {
		http.NotFound(w, nil)
		return
	}
	entries := []any{map[string]any{"type": "directory", "path": "data"}}
	for _, path := range slices.Sorted(maps.Keys(h.files)) {
		body := h.files[path]
		blob := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(body), body))
		entry := map[string]any{"type": "file", "path": path, "size": len(body), "oid": hex.EncodeToString(blob[:])}
		if !h.git[path] {
			sum := sha256.Sum256([]byte(body))
			entry["oid"], entry["lfs"] = "0123456789012345678901234567890123456789", map[string]any{"oid": hex.EncodeToString(sum[:]), "size": len(body), "pointerSize": 130}
		}
		entries = append(entries, entry)
	}
	_ = json.NewEncoder(w).Encode(entries)
}

func (h *hub) source(t *testing.T) dataset.Source {
	return dataset.Source{Repo: "own/rows", Revision: "rev", Hub: dataset.Hub{Base: h.URL + "/", CacheDir: t.TempDir(), Pause: time.Millisecond, Attempts: 3}}
}

func (h *hub) asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ranges)
}

const tiny = "{\"instance_id\": \"a\"}\n{\"instance_id\": \"b\"}\n"

// The files of the split are fetched once, checked, and taken from the cache from then on.
func TestHub(t *testing.T) {
	t.Parallel()
	h := newHub(t, map[string]string{
		"README.md": "x", "data/dev.jsonl": "{", "data/test.json": "{",
		"data/test-00000-of-00002.parquet": string(table(t, []published{{InstanceID: "a"}, {InstanceID: "b"}})),
		"data/test-00001-of-00002.parquet": string(table(t, []published{{InstanceID: "c"}})),
	})
	h.git["data/test-00001-of-00002.parquet"] = true
	source := h.source(t)
	source.Hub.Token = "secret"
	for range 2 {
		rows, err := dataset.Load(t.Context(), source)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c"}, ids(rows))
	}
	require.Equal(t, []string{"", ""}, h.asked(), "each file once")
	require.Equal(t, []string{"Bearer secret", "Bearer secret", "Bearer secret", "Bearer secret"}, h.tokens)

	name := filepath.Join(source.Hub.CacheDir, "own--rows", "rev", "data", "test-00001-of-00002.parquet")
	require.NoError(t, os.WriteFile(name, []byte("PAR1 damaged"), 0o644))
	rows, err := dataset.Load(t.Context(), source)
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Len(t, h.asked(), 3, "a damaged file is fetched anew")

	source.Hub.Base, source.Hub.Offline = "", true
	rows, err = dataset.Load(t.Context(), source)
	require.NoError(t, err)
	require.Len(t, rows, 3)
	source.Revision = "other"
	_, err = dataset.Load(t.Context(), source)
	require.ErrorContains(t, err, "without Offline")
	entries, err := os.ReadDir(filepath.Dir(name))
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing but the files is left")
}

// A download that was cut goes on where it ended, in the same call and in a later one.
func TestHubResumes(t *testing.T) {
	t.Parallel()
	h := newHub(t, map[string]string{"test.jsonl": tiny})
	cuts := 0
	h.fault = func(w http.ResponseWriter, _ *http.Request, body string) bool {
		if cuts++; cuts > 1 {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		fmt.Fprint(w, body[:11])
		return true
	}
	rows, err := dataset.Load(t.Context(), h.source(t))
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, []string{"", "bytes=11-"}, h.asked())

	h.ranges, cuts = nil, 0
	h.fault = func(w http.ResponseWriter, r *http.Request, body string) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		if r.Header.Get("Range") == "" {
			fmt.Fprint(w, body[:20])
			return true
		}
		w.WriteHeader(503)
		return true
	}
	source := h.source(t)
	_, err = dataset.Load(t.Context(), source)
	require.ErrorContains(t, err, "test.jsonl cannot be fetched: the answer is 503")
	require.Equal(t, []string{"", "bytes=20-", "bytes=20-"}, h.asked(), "as many attempts as were allowed")
	h.fault = nil
	rows, err = dataset.Load(t.Context(), source)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, "bytes=20-", h.asked()[3])
}

// A server that knows no ranges, answers another one or refuses them costs a new beginning,
// not the file.
func TestHubRanges(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w http.ResponseWriter, body string){
		"whole": func(w http.ResponseWriter, body string) { fmt.Fprint(w, body) },
		"other": func(w http.ResponseWriter, body string) {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 3-%d/%d", len(body)-1, len(body)))
			w.WriteHeader(206)
			fmt.Fprint(w, body[3:])
		},
		"none": func(w http.ResponseWriter, _ string) { w.WriteHeader(416) },
	} {
		h := newHub(t, map[string]string{"test.jsonl": tiny})
		cuts := 0
		h.fault = func(w http.ResponseWriter, r *http.Request, body string) bool {
			switch cuts++; cuts {
			case 1:
				w.Header().Set("Content-Length", fmt.Sprint(len(body)))
				fmt.Fprint(w, body[:11])
				return true
			case 2:
				require.Equal(t, "bytes=11-", r.Header.Get("Range"))
				answer(w, body)
				return true
			}
			return false
		}
		rows, err := dataset.Load(t.Context(), h.source(t))
		require.NoError(t, err, name)
		require.Len(t, rows, 2, name)
	}
}

// What does not have the checksum that the hub lists is never used, nor gone on with.
func TestHubChecksum(t *testing.T) {
	t.Parallel()
	h := newHub(t, map[string]string{"test.jsonl": tiny})
	h.fault = func(w http.ResponseWriter, _ *http.Request, body string) bool {
		fmt.Fprint(w, strings.Replace(body, "b", "x", 1))
		return true
	}
	source := h.source(t)
	_, err := dataset.Load(t.Context(), source)
	require.ErrorContains(t, err, "its checksum is")
	require.NoFileExists(t, filepath.Join(source.Hub.CacheDir, "own--rows", "rev", "test.jsonl"))
	h.fault = func(w http.ResponseWriter, _ *http.Request, body string) bool {
		fmt.Fprint(w, body, "more")
		return true
	}
	_, err = dataset.Load(t.Context(), source)
	require.ErrorContains(t, err, "longer than the 42 bytes")
	h.fault = nil
	rows, err := dataset.Load(t.Context(), source)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Empty(t, h.asked()[len(h.asked())-1], "from the beginning")
}

// A hub that does not answer, or stops in the middle, fails within its limits, and a call
// that is cancelled ends at once.
func TestHubFails(t *testing.T) {
	t.Parallel()
	h := newHub(t, map[string]string{"test.jsonl": tiny})
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	h.fault = func(w http.ResponseWriter, _ *http.Request, body string) bool {
		fmt.Fprint(w, body[:5])
		w.(http.Flusher).Flush()
		h.mu.Unlock()
		defer h.mu.Lock()
		<-release
		return true
	}
	source := h.source(t)
	source.Hub.Stall, source.Hub.Attempts = 30*time.Millisecond, 2
	_, err := dataset.Load(t.Context(), source)
	require.ErrorContains(t, err, "nothing came for 30ms")
	source.Hub.Stall = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = dataset.Load(ctx, source)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	for status, want := range map[int]string{401: "token", 404: "404", 500: "500", 429: "429"} {
		tries := 0
		h.fault = func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			tries++
			w.WriteHeader(status)
			return true
		}
		_, err = dataset.Load(t.Context(), h.source(t))
		require.ErrorContains(t, err, want)
		require.Equal(t, map[int]int{401: 1, 404: 1, 500: 3, 429: 3}[status], tries)
	}
}

// The token goes to the hub alone, not to the host that it redirects to.
func TestHubRedirects(t *testing.T) {
	t.Parallel()
	var other string
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		other = r.Header.Get("Authorization")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(tiny))
	}))
	t.Cleanup(store.Close)
	h := newHub(t, map[string]string{"test.jsonl": tiny})
	h.fault = func(w http.ResponseWriter, r *http.Request, _ string) bool {
		http.Redirect(w, r, store.URL+"/signed?key=1", http.StatusFound)
		return true
	}
	source := h.source(t)
	source.Hub.Token = "secret"
	rows, err := dataset.Load(t.Context(), source)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Empty(t, other)
	require.Contains(t, h.tokens, "Bearer secret")
}

// Several loads of one file at a time share one cache and disturb each other not.
func TestHubAtOnce(t *testing.T) {
	t.Parallel()
	h := newHub(t, map[string]string{"test.jsonl": tiny})
	source := h.source(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			rows, err := dataset.Load(t.Context(), source)
			if err != nil || len(rows) != 2 {
				t.Errorf("%d rows, %v", len(rows), err)
			}
		})
	}
	group.Wait()
	require.Len(t, h.asked(), 1)
}

// The files of a commit are listed once; those of a branch each time.
func TestHubListing(t *testing.T) {
	t.Parallel()
	h := newHub(t, map[string]string{"test.jsonl": tiny})
	source := h.source(t)
	source.Revision = strings.Repeat("a", 40)
	for range 2 {
		_, err := dataset.Load(t.Context(), source)
		require.ErrorContains(t, err, "404", "this hub has the file in the revision rev only")
	}
	require.EqualValues(t, 1, h.lists.Load())
}

// What a source cannot be is said before anything is asked for.
func TestHubRefuses(t *testing.T) {
	t.Parallel()
	h := newHub(t, map[string]string{"test.jsonl": tiny, "a/dev.jsonl": tiny, "b/dev.jsonl": tiny, "../up.jsonl": tiny, "part-00000-of-00003.parquet": "x"})
	for want, change := range map[string]func(*dataset.Source){
		"set Path or Hub.Base":           func(s *dataset.Source) { s.Hub.Base = "" },
		"not a URL":                      func(s *dataset.Source) { s.Hub.Base = "ftp://x" },
		"has credentials":                func(s *dataset.Source) { s.Hub.Base = "http://u:p@127.0.0.1" },
		"without https":                  func(s *dataset.Source) { s.Hub.Base, s.Hub.Token = "http://hub.invalid", "t" },
		`no subset "huge"`:               func(s *dataset.Source) { s.Repo, s.Subset = "", "huge" },
		"not the name of a dataset":      func(s *dataset.Source) { s.Repo = "own/../x" },
		"not a revision":                 func(s *dataset.Source) { s.Revision = "../x" },
		"cannot be a part":               func(s *dataset.Source) { s.Split = "../x" },
		`no file for the split "none"`:   func(s *dataset.Source) { s.Split = "none" },
		"such as a/dev.jsonl and b/dev":  func(s *dataset.Source) { s.Split = "dev" },
		"1 of 3 files":                   func(s *dataset.Source) { s.Split = "part" },
		`no file "x.jsonl"`:              func(s *dataset.Source) { s.Files = []string{"x.jsonl"} },
		"not the name of a file":         func(s *dataset.Source) { s.Files = []string{"../up.jsonl"} },
		"the limit is 10":                func(s *dataset.Source) { s.MaxBytes = 10 },
		"check address, dataset and rev": func(s *dataset.Source) { s.Revision = "unknown" },
	} {
		source := h.source(t)
		change(&source)
		_, err := dataset.Load(t.Context(), source)
		require.ErrorContains(t, err, want)
	}
	require.Empty(t, h.asked())
}

// Subset and split choose a file, and a folder is read as a hub is.
func TestPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "lite"), 0o755))
	for name, text := range map[string]string{"lite/dev.jsonl": tiny, "lite/test.jsonl": `{"instance_id": "t"}`, "lite/other": `[]`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644))
	}
	for _, source := range []dataset.Source{
		{Path: filepath.Join(dir, "{subset}", "{split}.jsonl"), Subset: "lite", Split: "dev"},
		{Path: filepath.Join(dir, "{subset}"), Subset: "lite", Split: "dev"},
		{Path: dir, Split: "dev"},
		{Path: dir, Files: []string{"lite/dev.jsonl"}},
	} {
		source.Filter, source.Slice = "a|b", "1:"
		rows, err := dataset.Load(t.Context(), source)
		require.NoError(t, err)
		require.Equal(t, []string{"b"}, ids(rows))
	}
	for want, source := range map[string]dataset.Source{
		"no such file":            {Path: filepath.Join(dir, "missing")},
		"outside of the folder":   {Path: dir, Files: []string{"../x"}},
		`no subset "x"`:           {Path: filepath.Join(dir, "{subset}"), Subset: "x"},
		"for the split \"train\"": {Path: dir, Split: "train"},
	} {
		_, err := dataset.Load(t.Context(), source)
		require.ErrorContains(t, err, want)
	}
	id, err := dataset.ID("lite")
	require.NoError(t, err)
	require.Equal(t, "princeton-nlp/SWE-bench_Lite", id)
	id, err = dataset.ID("")
	require.NoError(t, err)
	require.Equal(t, "princeton-nlp/SWE-bench_Verified", id)
}
