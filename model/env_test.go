package model_test

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
)

// No variable of the environment changes a request.
func TestEnvironmentIsNotRead(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "ambient-key", "OPENAI_ADMIN_KEY": "ambient-admin", "OPENAI_ORG_ID": "ambient-org", "OPENAI_PROJECT_ID": "ambient-project",
		"OPENAI_WEBHOOK_SECRET": "ambient-secret", "OPENAI_BASE_URL": "http://ambient.invalid/v1", "OPENAI_CUSTOM_HEADERS": "X-Ambient: ambient-header\nX-Session-ID: ambient-session",
	} {
		t.Setenv(name, value)
	}
	s, url := serve(t, answer(okAnswer))
	b, err := model.New(model.Config{BaseURL: url, Model: "m"})
	require.NoError(t, err)
	t.Cleanup(b.CloseIdleConnections)
	_, err = b.Generate(routed(), ask("hello"))
	require.NoError(t, err)
	api := b.API()
	_, err = api.Models.List(routing.Without(t.Context()))
	require.NoError(t, err)
	requests := s.requests()
	require.Len(t, requests, 2)
	for _, r := range requests {
		require.NotContains(t, r.header, "Authorization", "a server that needs no key gets none")
		for name, values := range r.header {
			require.NotContains(t, strings.Join(values, " "), "ambient", name)
		}
		require.NotContains(t, r.body, "ambient")
	}
	require.Equal(t, string(testID), requests[0].header.Get("X-Session-ID"))
}

// requireAllServices compares with the SDK's own constructor, so that a service which
// a newer SDK adds is not forgotten.
func requireAllServices(t *testing.T, api openai.Client) {
	t.Helper()
	want, got := reflect.ValueOf(openai.NewClient()), reflect.ValueOf(api)
	for i := range want.NumField() {
		name := want.Type().Field(i).Name
		require.Equal(t, want.Field(i).IsZero(), got.Field(i).IsZero(), "service %s", name)
	}
}

// tapped hands on what is read and notes it when the body is closed.
type tapped struct {
	io.ReadCloser
	log *[]string
}

func (b *tapped) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if len(*b.log) == 0 || err == nil && n == 0 {
		*b.log = append(*b.log, "")
	}
	(*b.log)[len(*b.log)-1] += string(p[:n])
	if err == io.EOF {
		*b.log = append(*b.log, "")
	}
	return n, err
}
