package scorer

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRedactor(t *testing.T) {
	t.Parallel()
	for secret, c := range map[string][2]string{
		"abc":              {"key abc, run 0abc1", "key <redacted>, run 0<redacted>1"},
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
