package model_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/stretchr/testify/require"
)

// The text of a failure below HTTP says what was wrong and with which address; what cannot
// heal is not tried again.
func TestConnectionFailuresSayWhy(t *testing.T) {
	t.Parallel()
	_, plain := serve(t, answer(okAnswer))
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = nil
	secure.StartTLS()
	t.Cleanup(secure.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for name, test := range map[string]struct {
		url      string
		says     string
		attempts int
	}{
		"https to an http server": {strings.Replace(plain, "http:", "https:", 1), "check the scheme of the base URL", 1},
		"unknown certificate":     {secure.URL, "certificate", 1},
		"nobody listens":          {"http://" + closed.Addr().String(), "connection refused", 3},
	} {
		b, err := model.New(model.Config{BaseURL: test.url, Model: "m", Retry: model.Retry{Max: 2, MinWait: quick.MinWait, MaxWait: quick.MaxWait}})
		require.NoError(t, err, name)
		_, err = b.Generate(routed(), ask("x"))
		b.CloseIdleConnections()
		var failure *model.Error
		require.ErrorAs(t, err, &failure, name)
		require.Equal(t, model.KindTransport, failure.Kind, name)
		require.Equal(t, test.attempts, failure.Attempts, "%s: %v", name, err)
		require.ErrorContains(t, err, test.says, name)
		require.ErrorContains(t, err, test.url+"/chat/completions", name)
		require.Equal(t, test.url+"/chat/completions", failure.URL, name)
	}
	_, err = new(model.Base).Generate(context.Background(), ask("x"))
	require.ErrorContains(t, err, "New or Wrap")
}

// The path that a server does not know is shown: it is the commonest mistake in a base URL.
func TestNotFoundSaysWhere(t *testing.T) {
	t.Parallel()
	_, url := serve(t, status(404))
	b, err := model.New(model.Config{BaseURL: url + "/v2", Model: "m", Retry: quick})
	require.NoError(t, err)
	t.Cleanup(b.CloseIdleConnections)
	_, err = b.Generate(routed(), ask("x"))
	require.ErrorContains(t, err, url+"/v2/chat/completions")
	_, err = model.New(model.Config{BaseURL: url + "/v1/chat/completions", Model: "m"})
	require.ErrorContains(t, err, "names the endpoint")
	_, err = model.New(model.Config{BaseURL: "127.0.0.1:8000/v1", Model: "m"})
	require.ErrorContains(t, err, `"127.0.0.1:8000/v1" is no URL; write it as`)
}
