package service

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Config are the settings of a [Service].
type Config struct {
	// ArtifactRoot is the folder in which each run has its folder. It is made if it does
	// not exist; a leading "~/" is the home folder. One service at a time uses it.
	ArtifactRoot string
	Runner       Runner
	// AuthToken is what clients must send. Either it is set or AllowUnauthenticated.
	AuthToken            string
	AllowUnauthenticated bool
	// MaxConcurrentRuns is how many runs are queued or running at a time; 0 means 1.
	MaxConcurrentRuns int
	// MaxStoredRuns is how many finished runs are kept, those of the last five minutes
	// not counted; 0 or less keeps all.
	MaxStoredRuns int
	// NoResume reports runs that a restart has interrupted as failed.
	NoResume bool
	// EndpointAPIKey is the key for interrupted runs that had one.
	EndpointAPIKey string
	// EndpointKeyWait is how long such a run waits for its key; 0 means one hour.
	EndpointKeyWait time.Duration
	// Logger gets what operators should know, without secrets and content; nil discards it.
	Logger *slog.Logger
}

// Validate checks the settings without touching anything; [New] does so too.
func (c Config) Validate() error {
	switch {
	case c.Runner == nil:
		return errors.New("service: Config.Runner is not set")
	case c.AuthToken == "" && !c.AllowUnauthenticated:
		return errors.New("service: no auth token; set one, or allow unauthenticated requests explicitly")
	case c.AuthToken != "" && c.AllowUnauthenticated:
		return errors.New("service: an auth token is set and unauthenticated requests are allowed; choose one")
	case strings.Trim(c.AuthToken, " ") != c.AuthToken || strings.ContainsFunc(c.AuthToken, func(r rune) bool { return r < ' ' || r > '~' }):
		return errors.New("service: the auth token has characters that cannot be sent in a header; use visible ASCII")
	case c.MaxConcurrentRuns < 0:
		return fmt.Errorf("service: %d concurrent runs; allow at least 1", c.MaxConcurrentRuns)
	case c.ArtifactRoot == "":
		return errors.New("service: Config.ArtifactRoot is not set")
	}
	return nil
}

// prepare fills in what is not set, and makes the folder.
func (c *Config) prepare() error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.MaxConcurrentRuns == 0 {
		c.MaxConcurrentRuns = 1
	}
	if c.EndpointKeyWait == 0 {
		c.EndpointKeyWait = time.Hour
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	root := c.ArtifactRoot
	if rest, ok := strings.CutPrefix(root, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			return fmt.Errorf("service: artifact root: %w", err)
		}
		root = filepath.Join(home, rest)
	}
	root, err := filepath.Abs(root)
	if err == nil {
		err = os.MkdirAll(root, 0o755) //nolint:gosec // operators read artifacts
	}
	if err != nil {
		return fmt.Errorf("service: artifact root: %w", err)
	}
	c.ArtifactRoot = root
	return nil
}
