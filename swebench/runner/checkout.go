package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/homing-go/homing/swebench/phase"
)

// A checkout is one commit of a repository in a folder.
type checkout struct {
	once sync.Once
	path string
	err  error
}

var commitForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,200}$`)

// checkout returns the checkout of a commit; rows with the same one share it.
func (w *Workspace) checkout(ctx context.Context, source, commit string) (string, error) {
	if commit != "" && !commitForm.MatchString(commit) {
		return "", fmt.Errorf("its base commit is %.60q, which is none", commit)
	}
	source, env, err := credentials(source)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	if w.ready == nil {
		w.ready = map[string]*checkout{}
	}
	key := source + "\x00" + commit
	c := w.ready[key]
	if c == nil {
		c = new(checkout)
		w.ready[key] = c
	}
	w.mu.Unlock()
	c.once.Do(func() { c.path, c.err = w.make(ctx, source, commit, key, env) })
	if c.err != nil {
		w.mu.Lock()
		if w.ready[key] == c {
			delete(w.ready, key) // another attempt may do better
		}
		w.mu.Unlock()
	}
	return c.path, c.err
}

const (
	// cloneScript checks a commit out, and takes away what leads to other ones: a later
	// commit may have the solution.
	cloneScript = `set -e
git clone -q --no-checkout -- "$1" "$2"
cd "$2"
git checkout -q --detach "${3:-HEAD}"
git remote remove origin
git for-each-ref --format='delete %(refname)' | git update-ref --stdin
rm -rf .git/logs .git/packed-refs .git/FETCH_HEAD .git/ORIG_HEAD
git checkout -q -b main`
	// wrapScript makes a repository of a folder that is none.
	wrapScript = `set -e
mkdir -p "$2"
if [ -n "$1" ]; then cp -a -- "$1/." "$2"; fi
cd "$2"
git init -q .
git add -A -f
git -c user.name=homing -c user.email=homing@localhost -c commit.gpgsign=false commit -q --allow-empty -m base`
)

// enter takes a share of the cache. Whoever is the only one ends and removes what killed
// processes have left half made. The mark is that of processes that work in the cache.
func (w *Workspace) enter(cache string) (mark string, err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil { //nolint:gosec // sandboxes may run as others
		return "", err
	}
	sum := sha256.Sum256([]byte(cache))
	mark = "checkouts-" + hex.EncodeToString(sum[:16])
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.share != nil {
		return mark, nil
	}
	w.share, err = shareFile(filepath.Join(cache, fileLock), func() {
		phase.Sweep(mark)
		old, _ := filepath.Glob(filepath.Join(cache, "*.tmp"))
		for _, name := range old {
			_ = os.RemoveAll(name)
		}
	})
	return mark, err
}

// helper answers git with the user and the password of a URL.
const helper = `!f() { printf 'username=%s\npassword=%s\n' "$HOMING_GIT_USER" "$HOMING_GIT_PASSWORD"; }; f`

// credentials takes the user and the password out of a URL. git asks for them, and gets them by
// its environment, when the server does.
func credentials(source string) (plain string, env []string, err error) {
	if !isURL(source) {
		return source, nil, nil
	}
	u, err := url.Parse(source)
	if err != nil { // the error has the URL in it
		return "", nil, errors.New("its repository is a URL that cannot be read; write what is special in a password as %XX")
	}
	if u.User == nil {
		return source, nil, nil
	}
	password, _ := u.User.Password()
	if strings.ContainsAny(u.User.Username()+password, "\r\n\x00") {
		return "", nil, errors.New("the user or the password of its repository's URL has a line end")
	}
	env = []string{
		"HOMING_GIT_USER=" + u.User.Username(), "HOMING_GIT_PASSWORD=" + password,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=credential." + u.Scheme + "://" + u.Host + ".helper", "GIT_CONFIG_VALUE_0=" + helper,
	}
	u.User = nil
	return u.String(), env, nil
}

var userOf = regexp.MustCompile(`://[^/\s]*@`)

// withoutUser hides what may be a password.
func withoutUser(text string) string { return userOf.ReplaceAllString(text, "://…@") }

// make makes a checkout, as a whole or not at all.
func (w *Workspace) make(ctx context.Context, source, commit, key string, env []string) (string, error) {
	if w.Cache == "" {
		return "", &ConfigError{Field: "Workspace.Cache", Reason: "it is empty; name a folder for the checkouts"}
	}
	cache, err := filepath.Abs(w.Cache)
	if err != nil {
		return "", err
	}
	mark, err := w.enter(cache)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(key))
	path := filepath.Join(cache, hex.EncodeToString(sum[:16]))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	temp := path + "." + random(8) + ".tmp"
	defer os.RemoveAll(temp) //nolint:errcheck // it is gone when all went well
	script := cloneScript
	if info, err := os.Stat(filepath.Join(source, ".git")); source == "" || (!isURL(source) && (err != nil || info == nil) && !bare(source)) {
		script = wrapScript
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", script, "sh", source, temp, commit) //nolint:gosec // paths and a checked commit
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", phase.RunIDVariable+"="+mark)
	cmd.Env = append(cmd.Env, env...)
	cmd.WaitDelay = time.Second
	endsWhole(cmd)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("its repository %s cannot be checked out at %q: %w: %.300s", source, commit, err, strings.Join(strings.Fields(string(out)), " "))
	}
	return path, os.Rename(temp, path)
}

// bare reports whether a folder is a repository without a working tree.
func bare(path string) bool {
	_, head := os.Stat(filepath.Join(path, "HEAD"))
	_, objects := os.Stat(filepath.Join(path, "objects"))
	return head == nil && objects == nil
}
