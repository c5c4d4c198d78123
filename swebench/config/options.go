package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/homing-go/homing/swebench"
)

// Options are the scorer's options of a dataset: accuracy_config.extras with all defaults.
type Options struct {
	// ServiceURL is in the normal form of swebench.ServiceURL.
	ServiceURL string
	AuthToken  string // "" if there is none
	Subset     string // "verified" or "lite"
	Split      string
	// NumInstances is not yet clamped to the rows of the dataset.
	NumInstances   int
	Workers        int
	MaxEvalWorkers int
	Template       string // "default" or "qwen_tools"
	Timeout        time.Duration
	PollInterval   time.Duration
}

// String shows no token.
func (o Options) String() string {
	return fmt.Sprintf("%d instances of %s/%s", o.NumInstances, o.Subset, o.Split)
}

// GoString is String.
func (o Options) GoString() string { return o.String() }

const (
	optionKeys = "swebench_service_url swebench_service_auth_token subset split num_instances workers max_eval_workers swebench_template service_timeout_s poll_interval_s"
	removedKey = "enable_swebench_toolcall_patch"

	maxPollInterval = 1_000_000_000 // seconds, so that it fits a time.Duration
	minPollInterval = time.Millisecond
)

// Options reads the scorer's options of a dataset. workers, if it is absent or null, is the
// target of a load pattern of type concurrency or agentic_inference. Poll intervals below a
// millisecond count as one. The error is an *[Error] that names dataset, scorer and key.
func (c *Config) Options(d Dataset) (Options, error) {
	r := &reader{getenv: c.read.getenv}
	o, err := c.options(r, d)
	if err != nil {
		err = named(err, d.Name)
		if e, ok := err.(*Error); ok { //nolint:errorlint // made here
			e.Reason += " (" + ScorerMethod + ")"
		}
		return Options{}, err
	}
	return o, nil
}

func (c *Config) options(r *reader, d Dataset) (o Options, err error) {
	const key = "accuracy_config.extras"
	if repeats := find(d.scoring, "num_repeats"); repeats != nil {
		if n, err := r.count("accuracy_config.num_repeats", repeats); err != nil {
			return o, err
		} else if n != 1 {
			return o, fault("accuracy_config.num_repeats", "it is %d; repeats must be 1 for this scorer", n)
		}
	}
	var extras []pair
	if n := find(d.scoring, "extras"); !isNull(n) {
		if extras, err = r.mapping(key, n); err != nil {
			return o, err
		}
	}
	if find(extras, removedKey) != nil {
		return o, fault(join(key, removedKey), "it is gone; use swebench_template: qwen_tools")
	}
	if err := known(key, extras, optionKeys); err != nil {
		return o, err
	}
	if o, err = r.texts(key, extras); err != nil {
		return o, err
	}
	workers := 10
	if p := c.LoadPattern; p.TargetConcurrency > 0 && (p.Type == "concurrency" || p.Type == "agentic_inference") {
		workers = p.TargetConcurrency
	}
	timeout := 0
	for _, n := range []struct {
		name   string
		absent int
		into   *int
	}{
		{"num_instances", 100, &o.NumInstances},
		{"workers", workers, &o.Workers},
		{"max_eval_workers", 10, &o.MaxEvalWorkers},
		{"service_timeout_s", 86400, &timeout},
	} {
		*n.into = n.absent
		if value := find(extras, n.name); !isNull(value) {
			if *n.into, err = r.integer(join(key, n.name), value); err != nil {
				return o, err
			}
		}
		if *n.into < 1 {
			return o, fault(join(key, n.name), "it is %d; want 1 or more", *n.into)
		}
	}
	o.Timeout = time.Duration(timeout) * time.Second
	o.PollInterval, err = r.pollInterval(join(key, "poll_interval_s"), extras)
	return o, err
}

// texts reads the options that are texts.
func (r *reader) texts(key string, extras []pair) (o Options, err error) {
	o = Options{Subset: "verified", Split: "test", Template: "default"}
	read := func(name string, into *string, null string) {
		value := find(extras, name)
		switch {
		case err != nil || value == nil:
		case isNull(value) && null != "":
			*into = null
		case !isNull(value):
			*into, err = r.python(join(key, name), value)
		}
	}
	read("subset", &o.Subset, "None")
	read("split", &o.Split, "None")
	read("swebench_template", &o.Template, "")
	read("swebench_service_url", &o.ServiceURL, "")
	read("swebench_service_auth_token", &o.AuthToken, "")
	if err != nil {
		return o, err
	}
	if o.Subset != "verified" && o.Subset != "lite" {
		return o, fault(join(key, "subset"), `it is "%s"; want verified or lite`, short(o.Subset))
	}
	if o.Template != "default" && o.Template != "qwen_tools" {
		return o, fault(join(key, "swebench_template"), `it is "%s"; want default or qwen_tools`, short(o.Template))
	}
	if strings.ContainsFunc(o.AuthToken, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return o, fault(join(key, "swebench_service_auth_token"), "it has a space or a character that no header can carry")
	}
	if o.ServiceURL, err = swebench.ServiceURL(o.ServiceURL); err != nil {
		return o, fault(join(key, "swebench_service_url"), "%s", err)
	}
	return o, nil
}

// pythonFloat is what Python's float() takes of what is finite.
var pythonFloat = regexp.MustCompile(`^[+-]?(\d(_?\d)*)?(\.(\d(_?\d)*)?)?([eE][+-]?\d(_?\d)*)?$`)

func (r *reader) pollInterval(key string, extras []pair) (time.Duration, error) {
	value := find(extras, "poll_interval_s")
	if isNull(value) {
		return 5 * time.Second, nil
	}
	s, tag, err := r.scalar(key, value)
	if err != nil {
		return 0, err
	}
	seconds := math.NaN()
	switch tag {
	case "!!bool":
		if on, _ := strconv.ParseBool(s); on {
			seconds = 1
		}
	case "!!int", "!!float":
		seconds = float(s)
	case "!!str":
		if s := strings.TrimSpace(s); pythonFloat.MatchString(s) {
			seconds = float(s)
		}
	}
	if !(seconds > 0 && seconds <= maxPollInterval) { // so that NaN is refused
		return 0, fault(key, `it is "%s"; want a number of seconds above 0 and up to %d`, short(s), maxPollInterval)
	}
	return max(time.Duration(seconds*float64(time.Second)), minPollInterval), nil
}
