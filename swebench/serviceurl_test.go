package swebench_test

import (
	"testing"

	"github.com/homing-go/homing/swebench"
	"github.com/stretchr/testify/require"
)

// A URL with port 99999, an empty host or another scheme than http and https, and one with
// credentials, a path, parameters, a query or a fragment is refused without being shown.
func TestCase004_ServiceURLRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "  ", "secret", "http://h:99999", "http://h:-1", "http://", "http://:80", "ftp://secret", "http:// secret", "http://u@secret", "http://u:secret@h",
		"http://secret/v1", "http://secret//", "http://secret/;p", "http://secret?q", "http://secret/?q=1", "http://secret#f", "http:secret", "//secret", "http://sec\nret", "http://secret;p", "http://[::1",
	} {
		_, err := swebench.ServiceURL(s)
		require.Error(t, err, s)
		require.NotContains(t, err.Error(), "secret")
	}
}

// The scheme is put in lower case, white space around the URL goes, and the path becomes "/".
func TestCase005_ServiceURLNormalForm(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"  HTTP://host:80 \n": "http://host:80/", "https://Host/": "https://Host/", "http://h?": "http://h/", "http://h#": "http://h/", "http://h/?#": "http://h/", "http://[::1]:0": "http://[::1]:0/", "http://h:": "http://h:/",
	} {
		got, err := swebench.ServiceURL(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got)
	}
}
