package service_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/memhttp"
	"github.com/homing-go/homing/swebench"
	"github.com/stretchr/testify/require"
)

// A bubble is a client of a service in a synctest bubble.
type bubble struct {
	*testing.T
	transport *memhttp.Server
}

func (b *bubble) call(method, path, text string) answer {
	b.Helper()
	transport := b.transport.Transport()
	defer transport.CloseIdleConnections()
	req, err := http.NewRequest(method, b.transport.URL()+path, strings.NewReader(text))
	require.NoError(b, err)
	res, err := transport.RoundTrip(req)
	require.NoError(b, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(b, err)
	return answer{res, string(data)}
}

func (b *bubble) submit(text string) swebench.StatusView {
	b.Helper()
	res := b.call("POST", "/v1/runs", text)
	require.Equal(b, 202, res.StatusCode, res.body)
	return parse(b, res.body)
}

func (b *bubble) status(id string) swebench.StatusView {
	b.Helper()
	res := b.call("GET", "/v1/runs/"+id, "")
	require.Equal(b, 200, res.StatusCode, res.body)
	return parse(b, res.body)
}
