package scorer

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRedactor(t *testing.T) {
	t.Parallel()
	for secret, c := range map[string][2]string{
		"abc":              {"key abc, run 0abc1", "key <redacted>, run 0<redacted>1"},
		"x":                {"key=x, x", "key=<redacted>, x"},
		`a"é<\1234567`:     {`{"k":"a\"\u00e9<\\1234567"} "{\"a\\\"\\u00e9<\\\\1234567\"}" a%22%C3%A9%3C%5C1234567`, `{"k":"<redacted>"} "{\"<redacted>\"}" <redacted>`},
		"0":                {"run 00, api_key=0&x=0, Bearer 0", "run 00, api_key=<redacted>&x=0, Bearer <redacted>"},
		"":                 {"run", "run"},
		"secret-012345678": {"a secret-012345678 b", "a <redacted> b"},
	} {
		require.Equal(t, c[1], newRedactor(secret).text(c[0]))
	}
	for secret, want := range map[string]string{
		"abc":          `{"run_id" : "0abc1","n":1.50,"abc":"abc","error":"of <redacted>","message":"<redacted>","list":["abc","abc\"0123456"]}`,
		"abc\"0123456": `{"run_id" : "0abc1","n":1.50,"abc":"abc","error":"of abc","message":"abc","list":["abc","<redacted>"]}`,
		"1":            `{"run_id" : "0abc1","n":1.50,"abc":"abc","error":"of abc","message":"abc","list":["abc","abc\"0123456"]}`,
	} {
		got := newRedactor(secret).json([]byte(`{"run_id" : "0abc1","n":1.50,"abc":"abc","error":"of abc","message":"abc","list":["abc","abc\"0123456"]}`))
		require.Equal(t, want, string(got))
		require.True(t, json.Valid(got))
	}
}

// Names of a document are texts, too; a secret that was cut in two at the end of a text goes,
// and so do the characters that a terminal would obey.
func TestRedactorEdges(t *testing.T) {
	t.Parallel()
	r := newRedactor("secret-0123456789", "")
	require.Equal(t, `{"a <redacted>" : {"<redacted>":1}}`, string(r.json([]byte(`{"a secret-0123456789" : {"secret-0123456789":1}}`))))
	for in, want := range map[string]string{"x secret-0123": "x <redacted>", "x secr": "x <redacted>", "x sec": "x sec", "x secret-0123456789": "x secret-0123456789", "": ""} {
		require.Equal(t, want, r.cut(in))
	}
	require.Equal(t, "a [31mred b", r.excerpt("a\x1b[31mred\u0085\x00b"))
	require.Equal(t, "<redacted>", r.excerpt(strings.Repeat(" ", maxDetail-8)+"secret-0123456789 more"))
	require.Equal(t, []string{"pw"}, secretsOfURL("http://u:pw@h/v1"))
	require.Equal(t, []string{"u"}, secretsOfURL("http://u@h/v1"))
	require.Empty(t, secretsOfURL("http://h/v1"))
}
