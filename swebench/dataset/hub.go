package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/homing-go/homing/internal/rawjson"
)

// Limits of what a hub may answer.
const (
	maxListing = 16 << 20
	maxFiles   = 10_000
	maxHops    = 10
)

// A Hub is a server of datasets that answers as the common ones do: the files of a revision
// under BASE/api/datasets/REPO/tree/REVISION, and their content under
// BASE/datasets/REPO/resolve/REVISION/FILE. It is safe for concurrent use, also by several
// processes with one cache.
type Hub struct {
	// Base is its address, with https; http is for a loopback address, or where there is
	// no token.
	Base string
	// Token is sent to the hub and to no other host that it redirects to; "" sends none.
	Token string
	// CacheDir keeps what was fetched; "" is a folder of the user's own cache.
	CacheDir string
	// Offline takes what the cache has and asks nobody.
	Offline bool
	// Client sends the requests; nil is a client of its own without a limit for the whole
	// answer.
	Client *http.Client
	// Attempts is how often a file is tried without getting on, 0 meaning 5; Pause how
	// long it waits in between, the first time, 0 meaning a second; Stall how long an
	// answer may pause, 0 meaning 30 s.
	Attempts     int
	Pause, Stall time.Duration
}

// hubFile is a file as the hub lists it.
type hubFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
	Git    string `json:"git,omitempty"` // the checksum of git's blob
}

var (
	repoName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?$`)
	revisionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$`)
	commitName   = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// fetch returns the paths of the source's files in the cache, after it has fetched those
// that are not there.
func (s Source) fetch(ctx context.Context) ([]string, error) {
	repo, err := s.Repo, error(nil)
	if repo == "" {
		if repo, err = ID(s.Subset); err != nil {
			return nil, err
		}
	}
	revision := s.Revision
	if revision == "" {
		revision = "main"
	}
	if !repoName.MatchString(repo) || strings.Contains(repo, "..") {
		return nil, fault("", "%q is not the name of a dataset, such as princeton-nlp/SWE-bench_Verified", repo)
	}
	if !revisionName.MatchString(revision) || strings.Contains(revision, "..") {
		return nil, fault("", "%q is not a revision", revision)
	}
	d, err := newDownload(s.Hub, repo, revision, s.limit())
	if err != nil {
		return nil, err
	}
	defer d.close()
	listed, err := d.listing(ctx)
	if err != nil {
		return nil, err
	}
	names, byPath := s.Files, map[string]hubFile{}
	for _, file := range listed {
		byPath[file.Path] = file
		if len(s.Files) == 0 {
			names = append(names, file.Path)
		}
	}
	if len(s.Files) == 0 {
		if names, err = splitFiles(repo, names, s.split()); err != nil {
			return nil, err
		}
	}
	paths := make([]string, 0, len(names))
	for _, name := range names {
		file, ok := byPath[name]
		if !ok {
			return nil, fault(repo, "there is no file %q in revision %s", name, revision)
		}
		path, err := d.file(ctx, file)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// download is one use of a hub.
type download struct {
	hub            Hub
	base           *url.URL
	repo, revision string
	dir            string
	client         *http.Client
	limit          int64
	idle           func()
}

func newDownload(hub Hub, repo, revision string, limit int64) (*download, error) {
	d := &download{hub: hub, repo: repo, revision: revision, limit: limit, idle: func() {}}
	root := hub.CacheDir
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fault("", "there is no folder for the cache: %w; set CacheDir", err)
		}
		root = filepath.Join(user, "homing", "datasets")
	}
	d.dir = filepath.Join(root, strings.ReplaceAll(repo, "/", "--"), strings.ReplaceAll(revision, "/", "--"))
	if hub.Offline {
		return d, nil
	}
	base, err := url.Parse(strings.TrimRight(strings.TrimSpace(hub.Base), "/"))
	switch {
	case hub.Base == "":
		return nil, fault("", "there is neither a file nor the address of a hub; set Path or Hub.Base")
	case err != nil || base.Host == "" || (base.Scheme != "https" && base.Scheme != "http"):
		return nil, fault("", "the hub's address is not a URL with https and a host")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, fault("", "the hub's address has credentials, a query or a fragment; a token goes into Token")
	case base.Scheme == "http" && hub.Token != "" && !loopback(base.Hostname()):
		return nil, fault("", "a token is not sent to %s without https", base.Host)
	}
	d.base = base
	if hub.Client != nil {
		copied := *hub.Client
		d.client = &copied
	} else {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.DisableCompression = true // lengths and ranges are those of the file
		transport.ResponseHeaderTimeout = d.stall()
		d.client, d.idle = &http.Client{Transport: transport}, transport.CloseIdleConnections
	}
	d.client.CheckRedirect = d.redirect
	return d, nil
}

func (d *download) close() { d.idle() }

func (d *download) stall() time.Duration {
	if d.hub.Stall > 0 {
		return d.hub.Stall
	}
	return 30 * time.Second
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// redirect lets files come from elsewhere, but the token go to the hub alone.
func (d *download) redirect(req *http.Request, via []*http.Request) error {
	if len(via) >= maxHops {
		return fmt.Errorf("it redirects more than %d times", maxHops)
	}
	if d.base.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("it redirects from https to " + req.URL.Scheme)
	}
	if req.URL.Scheme != d.base.Scheme || req.URL.Host != d.base.Host {
		req.Header.Del("Authorization")
	}
	return nil
}

func (d *download) get(ctx context.Context, u *url.URL, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Accept-Encoding", "identity")
	if d.hub.Token != "" && u.Scheme == d.base.Scheme && u.Host == d.base.Host {
		req.Header.Set("Authorization", "Bearer "+d.hub.Token)
	}
	res, err := d.client.Do(req)
	var wrapped *url.Error
	if errors.As(err, &wrapped) { // its text has the URL, which may be a signed one
		err = wrapped.Err
	}
	return res, err
}

// listing is what the hub has in the revision. That of a commit never changes and is kept.
func (d *download) listing(ctx context.Context) ([]hubFile, error) {
	kept := filepath.Join(d.dir, ".files.json")
	if d.hub.Offline || commitName.MatchString(d.revision) {
		var files []hubFile
		data, err := os.ReadFile(kept) //nolint:gosec // a name of the cache's own
		if err == nil && json.Unmarshal(data, &files) == nil {
			return files, nil
		}
		if d.hub.Offline {
			return nil, fault("", "%s in revision %s is not in the cache; load it once without Offline", d.repo, d.revision)
		}
	}
	var files []hubFile
	next := d.base.JoinPath("api", "datasets", d.repo, "tree", url.PathEscape(d.revision))
	next.RawQuery = "recursive=true"
	for next != nil {
		page, after, err := d.page(ctx, next)
		if err != nil {
			return nil, fault(d.repo, "its files cannot be listed: %w", err)
		}
		if files = append(files, page...); len(files) > maxFiles {
			return nil, fault(d.repo, "it has more than %d files, which is the limit", maxFiles)
		}
		if after != nil && (after.Host != d.base.Host || len(page) == 0) {
			return nil, fault(d.repo, "its files cannot be listed: the next page is at another host, or this one is empty")
		}
		next = after
	}
	data, err := json.Marshal(files)
	if err == nil {
		err = replaceFile(kept, data)
	}
	if err != nil {
		return nil, fault("", "%w", err)
	}
	return files, nil
}

func (d *download) page(ctx context.Context, u *url.URL) (files []hubFile, next *url.URL, err error) {
	var data []byte
	err = d.attempts(ctx, func(ctx context.Context) (bool, error) {
		res, err := d.get(ctx, u, nil)
		if err != nil {
			return false, err
		}
		defer res.Body.Close() //nolint:errcheck // it was only read
		if res.StatusCode != http.StatusOK {
			return false, statusError(res.StatusCode)
		}
		data, err = io.ReadAll(io.LimitReader(res.Body, maxListing+1))
		if len(data) > maxListing {
			return false, permanent{fmt.Errorf("the answer has more than %d bytes, which is the limit", maxListing)}
		}
		if next = nextPage(res.Header.Get("Link")); next != nil {
			next = u.ResolveReference(next)
		}
		return false, err
	})
	if err != nil {
		return nil, nil, err
	}
	if rawjson.Valid(data) != nil || rawjson.Kind(data) != '[' {
		return nil, nil, errors.New("the answer is not a JSON list; is this the address of a hub?")
	}
	for a := rawjson.Elements(data); a.Next(); {
		if rawjson.Text(rawjson.Get(a.Value, "type")) != "file" {
			continue
		}
		file := hubFile{Path: rawjson.Text(rawjson.Get(a.Value, "path")), Size: -1, Git: rawjson.Text(rawjson.Get(a.Value, "oid"))}
		_ = json.Unmarshal(rawjson.Get(a.Value, "size"), &file.Size)
		if lfs := rawjson.Get(a.Value, "lfs"); rawjson.Kind(lfs) == '{' { // oid is that of a pointer
			file.Git, file.SHA256 = "", strings.TrimPrefix(rawjson.Text(rawjson.Get(lfs, "oid")), "sha256:")
			_ = json.Unmarshal(rawjson.Get(lfs, "size"), &file.Size)
		}
		files = append(files, file)
	}
	return files, next, nil
}

var nextLink = regexp.MustCompile(`<([^>]*)>\s*;\s*rel="?next"?`)

func nextPage(link string) *url.URL {
	parts := nextLink.FindStringSubmatch(link)
	if parts == nil {
		return nil
	}
	u, err := url.Parse(parts[1])
	if err != nil {
		return nil
	}
	return u
}
