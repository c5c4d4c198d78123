package runner

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/agent"
)

// An Endpoint makes clients for an OpenAI-compatible server: for the template qwen_tools
// those of package qwen, for others those of package model. They share connections and
// nothing else. It must not be changed or copied after its first client.
type Endpoint struct {
	BaseURL, Model string
	// APIKey is sent as a bearer token and is nowhere else; "" sends none, whatever the
	// environment holds.
	APIKey string
	// Headers are the names under which a session travels: nil means X-Session-ID, and an
	// empty list none. Preset names a carrier of [routing.Preset] instead.
	Headers []string
	Preset  string
	// Template decides the kind of the client, and its headers go with each request.
	Template agent.Template
	// Direct goes past any proxy of the environment.
	Direct bool
	Retry  model.Retry
	// Outage is how long requests wait, beside what Retry does, for an endpoint that has
	// answered before and is away now, as during a restart: it takes no connections, or the
	// gateway in front of it says so. All clients wait for the same end, so what does not come
	// back is waited for once. 0 means not at all.
	Outage time.Duration
	Audit  *routing.Audit
	Logger *slog.Logger

	once      sync.Once
	transport http.RoundTripper
}

// firstByte is what [model.Limits] has for an attempt.
const firstByte = 10 * time.Minute

// Check tells whether clients can be made, and makes none.
func (e *Endpoint) Check() error {
	carrier, err := e.carrier()
	if err != nil {
		return err
	}
	client, err := e.client(model.Config{BaseURL: e.BaseURL, Model: e.Model, Carrier: carrier})
	if err != nil {
		return err
	}
	if c, ok := client.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	return nil
}

// NewClient makes a client.
func (e *Endpoint) NewClient() (model.Client, error) {
	carrier, err := e.carrier()
	if err != nil {
		return nil, err
	}
	e.once.Do(func() {
		t := model.NewTransport()
		if e.Direct {
			t.Proxy = nil
		}
		var base http.RoundTripper = t
		if e.Outage > 0 {
			p := &patience{base: t, limit: e.Outage, logger: e.Logger}
			if p.logger == nil {
				p.logger = slog.New(slog.DiscardHandler)
			}
			base = p
		}
		e.transport = e.Template.Transport(base)
	})
	cfg := model.Config{
		BaseURL: e.BaseURL, APIKey: e.APIKey, Model: e.Model, Carrier: carrier, HTTPClient: &http.Client{Transport: e.transport},
		Retry: e.Retry, Audit: e.Audit, Logger: e.Logger,
	}
	if e.Outage > 0 {
		cfg.Limits.FirstByte = firstByte + e.Outage // the wait is a part of it
	}
	return e.client(cfg)
}

func (e *Endpoint) client(cfg model.Config) (model.Client, error) {
	if e.Template.Name == agent.QwenTools().Name {
		return qwen.New(qwen.Config{Config: cfg})
	}
	return model.New(cfg)
}

func (e *Endpoint) carrier() (routing.Carrier, error) {
	if e.Preset != "" {
		if e.Headers != nil {
			return nil, &ConfigError{Field: "Preset", Reason: "there are header names too; give one of the two"}
		}
		carrier, err := routing.Preset(e.Preset)
		if err != nil {
			return nil, &ConfigError{Field: "preset", Reason: err.Error()}
		}
		return carrier, nil
	}
	return routing.Header(e.Names()...)
}

// Names are the names of the headers, for [Config.Headers]; those of a preset are its own
// business, and are not known here.
func (e *Endpoint) Names() []string {
	switch {
	case e.Preset != "":
		return nil
	case e.Headers == nil:
		return swebench.DefaultHeaderNames()
	}
	return e.Headers
}

// CloseIdleConnections closes connections that no request uses.
func (e *Endpoint) CloseIdleConnections() {
	if c, ok := e.transport.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
