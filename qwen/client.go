package qwen

import (
	"github.com/homing-go/homing/model"
	"github.com/openai/openai-go/v3"
)

// Config configures a client: what every client needs, and what differs between the
// models and servers of the family. Its Dialect must be nil.
type Config struct {
	model.Config
	Options
}

// A Client is a [model.Base] that speaks the dialects of Qwen models: it has no sender of
// its own, so every request carries the session as any other client's does. It is safe
// for concurrent use.
type Client struct {
	*model.Base
}

var _ model.Client = (*Client)(nil)

// New returns a client. The error is a *[model.ConfigError].
func New(cfg Config) (*Client, error) {
	if err := cfg.prepare(); err != nil {
		return nil, err
	}
	base, err := model.New(cfg.Config)
	if err != nil {
		return nil, err
	}
	return &Client{base}, nil
}

// Wrap returns a client that sends through an existing one; see [model.Wrap].
func Wrap(api openai.Client, cfg Config) (*Client, error) {
	if err := cfg.prepare(); err != nil {
		return nil, err
	}
	base, err := model.Wrap(api, cfg.Config)
	if err != nil {
		return nil, err
	}
	return &Client{base}, nil
}

// prepare sets the dialect.
func (c *Config) prepare() error {
	if c.Dialect != nil {
		return &model.ConfigError{Field: "Dialect", Reason: "the client brings its own; leave it nil, or use model.New"}
	}
	switch c.Server {
	case "", OpenAICompatible, DashScope:
	default:
		return &model.ConfigError{Field: "Server", Reason: `"` + string(c.Server) + `" is unknown; use "openai-compatible" or "dashscope"`}
	}
	c.Dialect = NewDialect(c.Options)
	return nil
}
