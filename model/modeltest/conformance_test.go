package modeltest_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/routing"
)

// quick keeps the waits of the clients under test short.
var quick = model.Retry{MinWait: 2 * time.Millisecond}

func newBase(t *testing.T, cfg model.Config) *model.Base {
	t.Helper()
	cfg.Model = "m"
	if cfg.Retry == (model.Retry{}) {
		cfg.Retry = quick
	}
	base, err := model.New(cfg)
	require.NoError(t, err)
	return base
}

func TestBase(t *testing.T) {
	t.Parallel()
	modeltest.Conformance(t, func(t *testing.T, url string, c routing.Carrier) model.Client {
		return newBase(t, model.Config{BaseURL: url, Carrier: c})
	})
}

func TestClientFromScratch(t *testing.T) {
	t.Parallel()
	modeltest.Conformance(t, func(t *testing.T, url string, c routing.Carrier) model.Client {
		pool := &http.Transport{MaxIdleConnsPerHost: 64}
		t.Cleanup(pool.CloseIdleConnections)
		return &simple{url, routing.Wrap(&http.Client{Transport: pool}, c)}
	})
}

// counting is a decorator: it embeds the interface and forwards.
type counting struct {
	model.Client
	calls atomic.Int64
}

func (c *counting) Generate(ctx context.Context, req *model.Request) (*model.Response, error) {
	c.calls.Add(1)
	return c.Client.Generate(ctx, req)
}

func (c *counting) Stream(ctx context.Context, req *model.Request) *model.Stream {
	return model.NewStream(func(yield func(model.Event) bool) (*model.Response, error) {
		c.calls.Add(1)
		return forward(c.Client.Stream(ctx, req), yield)
	})
}

func TestDecorator(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	modeltest.Conformance(t, func(t *testing.T, url string, c routing.Carrier) model.Client {
		base := newBase(t, model.Config{BaseURL: url, Carrier: c})
		t.Cleanup(base.CloseIdleConnections)
		d := &counting{Client: base}
		t.Cleanup(func() { calls.Add(d.calls.Load()) })
		return d
	})
	require.Greater(t, calls.Load(), int64(200), "the decorator was bypassed")
}
