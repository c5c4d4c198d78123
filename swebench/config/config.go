package config

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Mode is which side of a benchmark runs.
type Mode string

// The modes of a benchmark.
const (
	ModePerf Mode = "perf" // accuracy datasets of the SWE-bench scorer are not looked at
	ModeAcc  Mode = "acc"
	ModeBoth Mode = "both"
)

// A Config is a benchmark's configuration. Do not change it: it may be used from several
// goroutines.
type Config struct {
	Model       ModelParams
	Datasets    []Dataset
	LoadPattern LoadPattern
	Endpoint    Endpoint
	// RoutingHeaders are the effective names, see [RoutingHeaders]; never nil.
	RoutingHeaders []string

	root *yaml.Node
	read *reader
}

// LoadPattern is settings.load_pattern.
type LoadPattern struct {
	Type string
	// TargetConcurrency is 0 if there is none.
	TargetConcurrency int
}

// Endpoint is endpoint_config.
type Endpoint struct {
	URLs   []string
	APIKey string // "" if there is none
}

// String shows neither the key nor the URLs, which may hold one.
func (e Endpoint) String() string { return fmt.Sprintf("%d endpoints", len(e.URLs)) }

// GoString is String.
func (e Endpoint) GoString() string { return e.String() }

// Load reads a file of at most 1 MiB. The error is an *[Error], or says why the file cannot
// be read.
func Load(file string) (*Config, error) {
	f, err := os.Open(file) //nolint:gosec // the caller names the file
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return Parse(data, os.LookupEnv)
}

// Parse reads a configuration and checks all of it but the options of the scorer, which
// [Config.Options] does, because they do not matter in [ModePerf]. lookup answers for the
// environment; nil means that it is empty. The error is an *[Error].
func Parse(data []byte, lookup func(name string) (string, bool)) (*Config, error) {
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	root, err := document(data)
	if err != nil {
		return nil, err
	}
	c := &Config{root: root, read: &reader{getenv: lookup}}
	if err := c.parse(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Config) parse() error {
	top, err := c.read.mapping("", c.root)
	if err != nil {
		return err
	}
	var base []pair
	if model := find(top, "model_params"); !isNull(model) {
		if base, err = c.read.mapping("model_params", model); err != nil {
			return err
		}
	}
	if c.Model, err = c.read.model("model_params", base); err != nil {
		return err
	}
	if err := c.datasets(find(top, "datasets"), base); err != nil {
		return err
	}
	if err := c.loadPattern(find(top, "settings")); err != nil {
		return err
	}
	if err := c.endpoint(find(top, "endpoint_config")); err != nil {
		return err
	}
	if err := c.oneOfEach(); err != nil {
		return err
	}
	c.RoutingHeaders = RoutingHeaders(c.Datasets)
	return nil
}

func (c *Config) datasets(n *yaml.Node, base []pair) error {
	if isNull(n) {
		return nil
	}
	list, err := c.read.follow(n)
	if err != nil {
		return err
	}
	if list.Kind != yaml.SequenceNode {
		return fault("datasets", "it is %s; want a list", kindName(list))
	}
	for i, n := range list.Content {
		d, err := c.read.dataset("datasets["+strconv.Itoa(i)+"]", n, base)
		if err != nil {
			return err
		}
		c.Datasets = append(c.Datasets, d)
	}
	return nil
}

func (c *Config) loadPattern(settings *yaml.Node) error {
	const key = "settings.load_pattern"
	if isNull(settings) {
		return nil
	}
	pairs, err := c.read.mapping("settings", settings)
	if err != nil || isNull(find(pairs, "load_pattern")) {
		return err
	}
	if pairs, err = c.read.mapping(key, find(pairs, "load_pattern")); err != nil {
		return err
	}
	if err := known(key, pairs, "type target_qps target_concurrency use_legacy_loadgen_qps_metrics"); err != nil {
		return err
	}
	if c.LoadPattern.Type, err = c.read.optional(join(key, "type"), find(pairs, "type")); err != nil {
		return err
	}
	if target := find(pairs, "target_concurrency"); !isNull(target) {
		c.LoadPattern.TargetConcurrency, err = c.read.count(join(key, "target_concurrency"), target)
		if err == nil && c.LoadPattern.TargetConcurrency < 1 {
			err = fault(join(key, "target_concurrency"), "it is %d; want 1 or more", c.LoadPattern.TargetConcurrency)
		}
	}
	return err
}

func (c *Config) endpoint(n *yaml.Node) error {
	const key = "endpoint_config"
	if isNull(n) {
		return nil
	}
	pairs, err := c.read.mapping(key, n)
	if err != nil {
		return err
	}
	if err := known(key, pairs, "endpoints api_key api_type"); err != nil {
		return err
	}
	if c.Endpoint.APIKey, err = c.read.optional(join(key, "api_key"), find(pairs, "api_key")); err != nil {
		return err
	}
	list := find(pairs, "endpoints")
	if isNull(list) {
		return nil
	}
	if list, err = c.read.follow(list); err != nil {
		return err
	}
	if list.Kind != yaml.SequenceNode {
		return fault(join(key, "endpoints"), "it is %s; want a list of URLs", kindName(list))
	}
	for i, n := range list.Content {
		s, err := c.read.text(join(key, "endpoints"), n)
		if err != nil {
			return err
		}
		s = strings.TrimSpace(s)
		if !isEndpoint(s) {
			return fault(join(key, "endpoints"), "entry %d is not an http or https URL with a host and a sound port", i+1)
		}
		c.Endpoint.URLs = append(c.Endpoint.URLs, s)
	}
	return nil
}

func isEndpoint(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return false
	}
	_, err = strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil
}

// oneOfEach checks what must not be there twice.
func (c *Config) oneOfEach() error {
	seen := map[[2]string]bool{}
	var names []string
	for _, d := range c.Datasets {
		id := [2]string{d.Name, d.Type}
		if seen[id] {
			return &Error{Dataset: d.Name, Key: "name", Reason: "two " + d.Type + " datasets have this name; their results would be mixed up"}
		}
		seen[id] = true
		if d.UsesScorer() && len(c.Endpoint.URLs) != 1 {
			return &Error{Dataset: d.Name, Key: "endpoint_config.endpoints", Reason: fmt.Sprintf("%s takes exactly one URL, there are %d", ScorerMethod, len(c.Endpoint.URLs))}
		}
		if d.Agentic == nil {
			continue
		}
		if names != nil && !slices.Equal(names, d.Agentic.RoutingHeaders) {
			return &Error{Dataset: d.Name, Key: "agentic_inference.routing_headers", Reason: "another performance dataset has other names; accuracy datasets could not tell which to take"}
		}
		names = d.Agentic.RoutingHeaders
	}
	return nil
}

// Scored returns the accuracy datasets that the SWE-bench service scores in mode.
func (c *Config) Scored(mode Mode) []Dataset {
	var scored []Dataset
	for _, d := range c.Datasets {
		if mode != ModePerf && d.Type == Accuracy && d.UsesScorer() {
			scored = append(scored, d)
		}
	}
	return scored
}

func named(err error, dataset string) error {
	var e *Error
	if errors.As(err, &e) && e.Dataset == "" {
		e.Dataset = dataset
	}
	return err
}
