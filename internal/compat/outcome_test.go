package compat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requests []string // the header lines of each, by commas
		want     Outcome
		fault    string
	}{
		"on each":          {[]string{"Host: a,X-Session-ID: s1", "X-Session-ID: s1"}, Yes, ""},
		"on none":          {[]string{"Host: a", "Host: a"}, ContextLost, ""},
		"lost on a retry":  {[]string{"X-Session-ID: s1", "Host: a"}, "", "1 requests of 2 have no header"},
		"twice":            {[]string{"X-Session-ID: s1,x-session-id: s1"}, "", "request 1 has the header 2 times"},
		"another spelling": {[]string{"X-Session-ID: s1", "X-Session-Id: s1"}, "", `request 2 has "X-Session-Id: s1"`},
		"another session":  {[]string{"X-Session-ID: s2"}, "", `request 1 has "X-Session-ID: s2"`},
		"no request":       {nil, "", "no request came"},
	} {
		var requests []request
		for _, lines := range c.requests {
			requests = append(requests, request{lines: strings.Split(lines, ",")})
		}
		got, err := judge(requests, "s1")
		require.Equal(t, c.want, got, name)
		if c.fault == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.fault, name)
		}
	}
}
