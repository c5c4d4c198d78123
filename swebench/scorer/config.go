package scorer

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/homing-go/homing/swebench"
)

// Config is what a [Scorer] needs. Its zero values are those of the protocol, save those
// of ServiceURL, ReportDir and Request.
type Config struct {
	// ServiceURL is the root of the service, see swebench.ServiceURL.
	ServiceURL string
	// AuthToken goes into an Authorization header of every request; "" sends none.
	AuthToken string
	// Request is the submission. Its RoutingHeaders are the names that agents shall use: nil
	// means the default, and an empty list that is not nil none.
	Request swebench.RunRequest
	// DatasetName and GroundTruth (a column, "" for none) go into the entry.
	DatasetName, GroundTruth string
	// ReportDir gets the files; it is made if it is not there.
	ReportDir string
	// Timeout is for the whole run, from the moment it is accepted; 0 means 24 hours.
	Timeout time.Duration
	// PollInterval is the pause between polls; 0 means 5 seconds.
	PollInterval time.Duration
	// Tolerance is how long polls must fail in a row, 10 at least, before a run is given up; 0
	// means 30 seconds, in which a service can be started again.
	Tolerance time.Duration
	// MaxArtifactBytes is how large an artifact may be; 0 means 1 GiB.
	MaxArtifactBytes int64
	// Transport sends the requests; nil means one with a connection for each request and
	// with the proxies of the environment. It must not follow redirects or retry by itself.
	Transport http.RoundTripper
	// Logger gets warnings and errors; nil means none.
	Logger *slog.Logger
	// Progress is called, by the goroutine that scores, whenever something has changed.
	Progress func(Progress)
}

// String shows neither token nor key.
func (c Config) String() string { return "scorer of " + c.DatasetName }

// GoString is String.
func (c Config) GoString() string { return c.String() }

const (
	defaultTimeout      = 24 * time.Hour
	defaultPollInterval = 5 * time.Second
	defaultTolerance    = 30 * time.Second
	defaultMaxArtifact  = 1 << 30
)

// A Scorer scores one dataset. It may score again; not at the same time into one folder.
type Scorer struct {
	cfg    Config
	client *client
	log    *slog.Logger
}

// New checks cfg. The request is checked by [Scorer.Score], as it may have no instances yet.
// The error is a *[SetupError].
func New(cfg Config) (*Scorer, error) {
	base, err := swebench.ServiceURL(cfg.ServiceURL)
	if err != nil {
		return nil, &SetupError{Op: "service URL", Reason: err.Error()}
	}
	if strings.ContainsFunc(cfg.AuthToken, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, &SetupError{Op: "auth token", Reason: "it has a space or a character that no header can carry"}
	}
	for _, n := range []struct {
		name  string
		value int64
	}{{"timeout", int64(cfg.Timeout)}, {"poll interval", int64(cfg.PollInterval)}, {"tolerance", int64(cfg.Tolerance)}, {"artifact limit", cfg.MaxArtifactBytes}} {
		if n.value < 0 {
			return nil, &SetupError{Op: n.name, Reason: "it is negative; leave it 0 for the default"}
		}
	}
	if cfg.ReportDir == "" {
		return nil, &SetupError{Op: "report folder", Reason: "it is missing; name a folder"}
	}
	if cfg.Request.RoutingHeaders == nil {
		cfg.Request.RoutingHeaders = swebench.DefaultHeaderNames()
	}
	names, err := swebench.HeaderNames(cfg.Request.RoutingHeaders)
	if err != nil {
		return nil, &SetupError{Op: "session headers", Reason: err.Error()}
	}
	cfg.Request.RoutingHeaders = names
	setDefault(&cfg.Timeout, defaultTimeout)
	setDefault(&cfg.PollInterval, defaultPollInterval)
	setDefault(&cfg.Tolerance, defaultTolerance)
	setDefault(&cfg.MaxArtifactBytes, defaultMaxArtifact)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	secrets := []string{cfg.AuthToken}
	if key := cfg.Request.EndpointAPIKey; key != nil {
		secrets = append(secrets, *key)
	}
	for _, u := range cfg.Request.EndpointURLs {
		secrets = append(secrets, secretsOfURL(u)...)
	}
	return &Scorer{cfg: cfg, client: newClient(base, cfg.AuthToken, cfg.Transport, newRedactor(secrets...)), log: cfg.Logger}, nil
}

func setDefault[T comparable](value *T, absent T) {
	var zero T
	if *value == zero {
		*value = absent
	}
}
