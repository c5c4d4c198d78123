package model_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
)

// doer is an HTTP client of the caller's that is no *http.Client.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(req *http.Request) (*http.Response, error) { return d(req) }

// stuck is a body that never has anything and never ends.
type stuck struct{ io.Reader }

func (stuck) Read([]byte) (int, error) { return 0, nil }
func (stuck) Close() error             { return nil }

// Transports that break the rules of http.RoundTripper give typed errors, whether they are
// below New or below Wrap: neither a response nor an error, both, no header, no body, a body
// that never moves, a status that is none.
func TestOddTransports(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	var closed atomic.Int64
	for name, test := range map[string]struct {
		do       roundTrip
		kind     model.Kind
		attempts int
	}{
		"nothing": {func(*http.Request) (*http.Response, error) { return nil, nil }, model.KindTransport, 5}, //nolint:nilnil // a broken one
		"both": {func(*http.Request) (*http.Response, error) {
			res := response("application/json", okAnswer)
			res.Body = &closing{Reader: strings.NewReader(okAnswer), closed: &closed}
			return res, down
		}, model.KindTransport, 5},
		"no header": {func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
		}, model.KindOverloaded, 5},
		"no body":      {func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200}, nil }, model.KindTruncated, 5},
		"no body, 500": {func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 500}, nil }, model.KindServer, 5},
		"no status":    {func(*http.Request) (*http.Response, error) { return &http.Response{Body: http.NoBody}, nil }, model.KindResponse, 1},
		"no progress": {func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: stuck{}}, nil
		}, model.KindTruncated, 5},
		"stuck failure": {func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 400, Body: stuck{}}, nil
		}, model.KindBadRequest, 1},
		"odd errors":     {func(*http.Request) (*http.Response, error) { return nil, context.Canceled }, model.KindTransport, 5},
		"empty errors":   {func(*http.Request) (*http.Response, error) { return nil, errors.Join(errors.New(""), nil) }, model.KindTransport, 5},
		"typed failures": {func(*http.Request) (*http.Response, error) { return nil, &model.Error{Kind: model.KindAuth} }, model.KindAuth, 1},
		"data and error": {func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(io.MultiReader(strings.NewReader(okAnswer), iotest.ErrReader(down)))}, nil
		}, model.KindTruncated, 5},
	} {
		n := 0
		counted := func(req *http.Request) (*http.Response, error) {
			n++
			return test.do(req)
		}
		wrapped, err := model.Wrap(openai.NewClient(option.WithBaseURL("http://model.test"), option.WithAPIKey("k"), option.WithHTTPClient(doer(counted))), model.Config{Model: "m", Retry: quick})
		require.NoError(t, err)
		for i, b := range []*model.Base{through(t, model.Config{Limits: model.Limits{InFlight: 1}}, counted), wrapped} {
			api := b.API()
			for way, call := range map[string]func(ctx context.Context) error{
				"plain":  func(ctx context.Context) error { return errOf(b.Generate(ctx, ask("x"))) },
				"stream": func(ctx context.Context) error { return errOf(b.Stream(ctx, ask("x")).Response()) },
				"api":    func(ctx context.Context) error { return errOf(api.Models.List(ctx)) },
			} {
				if way == "api" && (test.kind == model.KindTruncated || test.kind == model.KindResponse) {
					continue // what a body must be, the SDK judges
				}
				n = 0
				ctx, cancel := context.WithTimeout(routed(), 20*time.Second)
				err := call(ctx)
				cancel()
				var failure *model.Error
				require.ErrorAs(t, err, &failure, "%s %s %d", name, way, i)
				require.Equal(t, test.kind, failure.Kind, "%s %s %d: %v", name, way, i, err)
				require.Equal(t, test.attempts, n, "%s %s %d", name, way, i)
			}
		}
	}
	require.EqualValues(t, 6*5, closed.Load(), "a response beside an error is closed")
}

// A middleware of the wrapped client may do what middlewares do; what it must not do is
// answer in the place of the transport, which would lose the session in silence.
func TestOddMiddlewares(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for name, test := range map[string]struct {
		middleware func(*http.Request, option.MiddlewareNext) (*http.Response, error)
		want       error // nil: the answer
		sent       int
	}{
		"answers itself": {func(*http.Request, option.MiddlewareNext) (*http.Response, error) {
			return response("application/json", okAnswer), nil
		}, &model.ConfigError{}, 0},
		"sends itself": {func(req *http.Request, _ option.MiddlewareNext) (*http.Response, error) {
			return http.DefaultClient.Do(req)
		}, &model.ConfigError{}, 1},
		"nothing": {func(*http.Request, option.MiddlewareNext) (*http.Response, error) { return nil, nil }, model.KindTransport, 0}, //nolint:nilnil // a broken one
		"fails":   {func(*http.Request, option.MiddlewareNext) (*http.Response, error) { return nil, down }, down, 0},
		"fails behind": {func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			res, _ := next(req)
			return res, down
		}, down, 1},
		"no body": {func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			res, err := next(req)
			if err == nil {
				_ = res.Body.Close()
				res.Body = nil
			}
			return res, err
		}, model.ErrTruncated, 1},
		"no header": {func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			res, err := next(req)
			if err == nil {
				res.Header = nil
			}
			return res, err
		}, nil, 1},
		"endless body": {func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			res, err := next(req)
			if err == nil {
				res.Body = struct {
					io.Reader
					io.Closer
				}{endless{}, res.Body}
			}
			return res, err
		}, model.KindResponse, 1},
		"other status": {func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			res, err := next(req)
			if err == nil {
				res.StatusCode = 402
			}
			return res, err
		}, model.KindBadRequest, 1},
		"twice, one behind the other": {func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			first, err := next(req)
			if err != nil {
				return nil, err
			}
			_ = first.Body.Close()
			req = req.Clone(req.Context())
			req.Body, _ = req.GetBody()
			return next(req)
		}, nil, 2},
		"twice, the first counts": {func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			first, err := next(req)
			if err != nil {
				return nil, err
			}
			again := req.Clone(req.Context())
			again.Body, _ = req.GetBody()
			if second, err := next(again); err == nil {
				_ = second.Body.Close()
			}
			return first, nil
		}, nil, 2},
		"twice at a time": {func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			type outcome struct {
				res *http.Response
				err error
			}
			all := make(chan outcome, 2)
			for range 2 {
				again := req.Clone(req.Context())
				again.Body, _ = req.GetBody()
				go func() {
					res, err := next(again)
					all <- outcome{res, err}
				}()
			}
			a, b := <-all, <-all
			if a.err == nil {
				return a.res, nil
			}
			return b.res, b.err
		}, nil, -1},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %v", name, stream), func(t *testing.T) {
				conns, url := counted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if stream {
						events(`{"choices":[{"index":0,"delta":{"content":"fine"}}]}`, stopChunk)(w, r)
					} else {
						answer(okAnswer)(w, r)
					}
				}))
				var sent atomic.Int64
				pool := model.NewTransport()
				api := openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("k"), option.WithMiddleware(test.middleware), option.WithHTTPClient(&http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
					sent.Add(1)
					if req.Header["X-Session-ID"][0] != string(testID) {
						t.Error("no session")
					}
					return pool.RoundTrip(req)
				})}))
				b, err := model.Wrap(api, model.Config{Model: "m", Retry: quick, Limits: model.Limits{ResponseBytes: mib}})
				require.NoError(t, err)
				var res *model.Response
				if stream {
					res, err = b.Stream(routed(), ask("x")).Response()
				} else {
					res, err = b.Generate(routed(), ask("x"))
				}
				var config *model.ConfigError
				var failure *model.Error
				switch {
				case test.want == nil:
					require.NoError(t, err, "%s %v", name, stream)
					require.Equal(t, "fine", res.Text, "%s %v", name, stream)
				case errors.As(test.want, &config):
					require.ErrorAs(t, err, &config, "%s %v", name, stream)
					require.ErrorContains(t, err, "middleware")
				default:
					require.ErrorIs(t, err, test.want, "%s %v", name, stream)
					require.ErrorAs(t, err, &failure, "%s %v", name, stream)
				}
				if test.sent >= 0 && name != "sends itself" {
					require.EqualValues(t, test.sent, sent.Load(), "%s %v", name, stream)
				}
				pool.CloseIdleConnections()
				http.DefaultClient.CloseIdleConnections()
				conns.await(t, 0)
			})
		}
	}
}

// endless is text without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// A place among those in flight comes back whatever became of the attempt that held it.
func TestPlacesComeBack(t *testing.T) {
	t.Parallel()
	n := 0
	b := through(t, model.Config{Limits: model.Limits{InFlight: 1}, Retry: model.Retry{Max: -1}}, func(*http.Request) (*http.Response, error) {
		switch n++; n {
		case 1:
			return nil, nil //nolint:nilnil // a broken one
		case 2:
			return &http.Response{StatusCode: 200}, nil
		case 3:
			return response("application/json", "no"), nil
		case 4:
			panic("in the transport")
		case 5:
			return response("text/event-stream", "data: "+wordChunk+"\n\n"), nil
		case 6:
			return &http.Response{StatusCode: 101, Body: io.NopCloser(endless{})}, nil
		}
		return response("application/json", okAnswer), nil
	})
	ctx, cancel := context.WithTimeout(routing.NewContext(context.Background(), routing.NewSession(testID)), 20*time.Second)
	defer cancel()
	for range 6 {
		func() {
			defer func() { _ = recover() }()
			_, err := b.Stream(ctx, ask("x")).Response()
			require.Error(t, err)
		}()
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := b.Generate(ctx, ask("x")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
