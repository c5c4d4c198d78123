package config_test

import (
	"testing"

	"github.com/homing-go/homing/swebench/config"
	"github.com/stretchr/testify/require"
)

// Whatever the file is, it is read or refused, and what is read can be written without its
// secrets and read again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		sound, "a: &a [*a]", "model_params: &a {chat_template_kwargs: *a}", "model_params: &b {chat_template_kwargs: *b}\ndatasets: [{name: d, generation_config_override: &c {chat_template_kwargs: *c}}]",
		"<<: &m {<<: *m}", "# nothing", "---\n...", "{a: 1, a: 2}", "model_params: {top_k: 0o7, seed: 1e400, temperature: -.inf}", "datasets: [{name: 'a', agentic_inference: {routing_headers: [X-A, x-a]}}]", "a: !!binary AAAA", "a: !!set {b, c}", "? [a]\n: b",
		"endpoint_config: {endpoints: ['http://u:p@h'], api_key: ${X:-k}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse(data, nil)
		if err != nil {
			var e *config.Error
			require.ErrorAs(t, err, &e)
			return
		}
		require.NotNil(t, c.RoutingHeaders)
		for _, d := range c.Scored(config.ModeAcc) {
			_, _ = c.Options(d)
		}
		_, err = c.Redacted()
		require.NoError(t, err)
	})
}
