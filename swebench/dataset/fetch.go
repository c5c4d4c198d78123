package dataset

import (
	"context"
	"crypto/sha1" //nolint:gosec // it is what git's checksums are
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/homing-go/homing/swebench/internal/atomicfile"
)

// progress is how much an attempt must bring to count as getting on.
const progress = 1 << 20

// statusError is an answer that is not the file.
type statusError int

func (e statusError) Error() string {
	text := fmt.Sprintf("the answer is %d %s", int(e), http.StatusText(int(e)))
	switch int(e) {
	case http.StatusUnauthorized, http.StatusForbidden:
		text += "; set a token that may read it"
	case http.StatusNotFound:
		text += "; check address, dataset and revision"
	}
	return text
}

func (e statusError) permanent() bool {
	return e < 500 && e != http.StatusTooManyRequests && e != http.StatusRequestTimeout
}

// permanent is an error that another attempt does not change.
type permanent struct{ error }

func (permanent) permanent() bool { return true }
func (p permanent) Unwrap() error { return p.error }

// attempts calls try until it succeeds, fails for good, or does not get on.
func (d *download) attempts(ctx context.Context, try func(context.Context) (further bool, err error)) error {
	left, pause := d.hub.Attempts, d.hub.Pause
	if left <= 0 {
		left = 5
	}
	if pause <= 0 {
		pause = time.Second
	}
	for all := left; ; {
		further, err := try(ctx)
		var lasting interface{ permanent() bool }
		if err == nil || (errors.As(err, &lasting) && lasting.permanent()) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if left--; further {
			left = all
		}
		if left <= 0 {
			return err
		}
		timer := time.NewTimer(min(pause<<(all-left), 30*time.Second))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// file returns the path of a file of the revision in the cache. What is there already is
// checked and taken, or fetched anew.
func (d *download) file(ctx context.Context, file hubFile) (string, error) {
	switch {
	case !filepath.IsLocal(filepath.FromSlash(file.Path)) || strings.HasPrefix(filepath.Base(file.Path), "."):
		return "", fault(d.repo, "%q is not the name of a file of a dataset", file.Path)
	case file.Size < 0:
		return "", fault(d.repo, "the hub does not say how long %s is", file.Path)
	case file.Size > d.limit:
		return "", fault(d.repo, "%s has %d bytes, the limit is %d", file.Path, file.Size, d.limit)
	case file.sum() == nil:
		return "", fault(d.repo, "the hub has no checksum for %s", file.Path)
	}
	name := filepath.Join(d.dir, filepath.FromSlash(file.Path))
	if file.check(name) == nil {
		return name, nil
	}
	if d.hub.Offline {
		return "", fault(d.repo, "%s is not in the cache, or damaged there; load it once without Offline", file.Path)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // a cache
		return "", fault("", "%w", err)
	}
	part := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".part")
	f, err := lockFile(ctx, part)
	if err != nil {
		return "", fault("", "%w", err)
	}
	defer f.Close()              //nolint:errcheck // synced below
	if file.check(name) == nil { // another process has fetched it
		_ = os.Remove(part)
		return name, nil
	}
	err = d.attempts(ctx, func(ctx context.Context) (bool, error) { return d.pull(ctx, f, file) })
	if err == nil {
		if err = f.Sync(); err == nil {
			err = atomicfile.Rename(part, name)
		}
	}
	if err != nil {
		return "", fault(d.repo, "%s cannot be fetched: %w", file.Path, err)
	}
	return name, nil
}

// pull goes on with the file where it ends, and checks it when it is whole.
func (d *download) pull(ctx context.Context, f *os.File, file hubFile) (further bool, err error) {
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return false, permanent{err}
	}
	if have > file.Size {
		have = 0
	}
	if have < file.Size || file.Size == 0 {
		var got int64
		got, err = d.body(ctx, f, file, have)
		if further = got >= progress; err != nil {
			return further, err
		}
	}
	if err := file.check(f.Name()); err != nil {
		return false, errors.Join(err, f.Truncate(0)) // what is wrong is not gone on with
	}
	return further, nil
}

// body reads the rest of the file from the hub; got is how much came.
func (d *download) body(ctx context.Context, f *os.File, file hubFile, have int64) (got int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	header := http.Header{}
	if have > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	// Files of a revision never change, and the checksum is that of all of it: no If-Range.
	res, err := d.get(ctx, d.base.JoinPath("datasets", d.repo, "resolve", url.PathEscape(d.revision), escapePath(file.Path)), header) //nolint:bodyclose // it is closed below
	if err != nil {
		return 0, err
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	switch {
	case res.StatusCode == http.StatusOK:
		have = 0
	case res.StatusCode == http.StatusPartialContent && have > 0:
		if first := rangeStart(res.Header.Get("Content-Range")); first != have {
			return 0, errors.Join(errors.New("the hub answers with another range than was asked for"), f.Truncate(0))
		}
	case res.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return 0, errors.Join(errors.New("the hub has no such range"), f.Truncate(0))
	default:
		return 0, statusError(res.StatusCode)
	}
	if encoding := res.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return 0, permanent{errors.New("the hub compresses the answer, which was not asked for")}
	}
	if err := f.Truncate(have); err != nil {
		return 0, permanent{err}
	}
	if _, err := f.Seek(have, io.SeekStart); err != nil {
		return 0, permanent{err}
	}
	watch := time.AfterFunc(d.stall(), cancel)
	defer watch.Stop()
	body := readerFunc(func(p []byte) (int, error) {
		watch.Reset(d.stall())
		return res.Body.Read(p)
	})
	got, err = io.Copy(f, io.LimitReader(body, file.Size-have+1))
	switch {
	case got > file.Size-have:
		return 0, permanent{errors.Join(fmt.Errorf("it is longer than the %d bytes that the hub lists", file.Size), f.Truncate(0))}
	case err != nil && ctx.Err() != nil:
		return got, fmt.Errorf("nothing came for %s, or the call was cancelled", d.stall())
	case err != nil:
		return got, err
	case got < file.Size-have:
		return got, fmt.Errorf("the answer ended after %d of %d bytes", have+got, file.Size)
	}
	return got, nil
}

// escapePath escapes the elements of a path, each for itself.
func escapePath(path string) string {
	elements := strings.Split(path, "/")
	for i := range elements {
		elements[i] = url.PathEscape(elements[i])
	}
	return strings.Join(elements, "/")
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func rangeStart(header string) int64 {
	text, ok := strings.CutPrefix(header, "bytes ")
	first, _, ok2 := strings.Cut(text, "-")
	n, err := strconv.ParseInt(first, 10, 64)
	if !ok || !ok2 || err != nil {
		return -1
	}
	return n
}

// sum is the hash whose value the hub lists; nil if it lists none.
func (f hubFile) sum() hash.Hash {
	switch {
	case len(f.SHA256) == 2*sha256.Size:
		return sha256.New()
	case len(f.Git) == 2*sha1.Size:
		h := sha1.New() //nolint:gosec // as above
		fmt.Fprintf(h, "blob %d\x00", f.Size)
		return h
	}
	return nil
}

// check holds a file against what the hub lists.
func (f hubFile) check(name string) error {
	file, err := os.Open(name) //nolint:gosec // a name of the cache's own
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	h := f.sum()
	n, err := io.Copy(h, io.LimitReader(file, f.Size+1))
	if err != nil {
		return err
	}
	got, want := hex.EncodeToString(h.Sum(nil)), strings.ToLower(f.SHA256+f.Git)
	if n != f.Size || got != want {
		return fmt.Errorf("its checksum is %s, the hub lists %s; the hub or a proxy changes it", got, want)
	}
	return nil
}

// replaceFile writes a file of the cache so that a reader sees the old or the new one.
func replaceFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // a cache
		return err
	}
	return atomicfile.Write(name, data)
}
