package model

import (
	"net/http"
	"slices"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// Wrap returns a client that sends by api: its base URL, authentication, transport and
// middleware stay as they are. The session and the one retry layer go below the
// caller's middleware, directly above its HTTP client; the SDK's own retries are
// switched off. BaseURL, APIKey and HTTPClient of cfg must be empty, since api has
// them; the redirect policy is api's too, and redirects to other origins are refused
// by the SDK if api uses an [http.Client].
func Wrap(api openai.Client, cfg Config) (*Base, error) {
	for field, set := range map[string]bool{"BaseURL": cfg.BaseURL != "", "APIKey": cfg.APIKey != "", "HTTPClient": cfg.HTTPClient != nil} {
		if set {
			return nil, &ConfigError{Field: field, Reason: "the wrapped client has its own; set it there, by an option of openai.NewClient"}
		}
	}
	if len(api.Options) == 0 {
		return nil, &ConfigError{Field: "api", Reason: "the client is empty; make it with openai.NewClient"}
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	b := newBase(cfg)
	b.route = b.newRoute(nil)
	b.retry = newRetrier(b, func(req *http.Request, next nextFunc) (*http.Response, error) {
		return b.route.Middleware(req, next)
	})
	b.api = openai.Client{Options: slices.Concat(
		[]option.RequestOption{option.WithMiddleware(b.enter)},
		api.Options,
		[]option.RequestOption{option.WithMaxRetries(0), option.WithMiddleware(func(req *http.Request, next nextFunc) (*http.Response, error) {
			return b.retry.do(req, guard(next))
		})},
	)}
	return b, nil
}

// guard stands directly above the caller's HTTP client.
func guard(next nextFunc) nextFunc {
	return func(req *http.Request) (*http.Response, error) {
		c := callFrom(req.Context())
		if origin := req.URL.Scheme + "://" + req.URL.Host; origin != c.origin {
			if req.Body != nil {
				_ = req.Body.Close()
			}
			return nil, &ConfigError{Field: "api", Reason: "a middleware of the wrapped client sends the request to another origin than its base URL"}
		}
		res, err := either(next(req))
		if err == nil && res.Request != nil && res.Request.Method != req.Method {
			_ = res.Body.Close()
			return nil, methodChanged(req.Method, res.Request.Method)
		}
		return res, err
	}
}
