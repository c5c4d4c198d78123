package config_test

import (
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/config"
	"github.com/stretchr/testify/require"
)

// Without an agentic block anywhere the only name is X-Session-ID, whether or not the
// accuracy dataset has extras.
func TestCase152_NoAgenticBlock(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"X-Session-ID"}, parse(t, sound).RoutingHeaders)
	require.Equal(t, []string{"X-Session-ID"}, parse(t, "datasets: []").RoutingHeaders)
	require.Equal(t, []string{"X-Session-ID"}, config.RoutingHeaders(nil))
	require.Equal(t, []string{"X-Session-ID"}, config.RoutingHeaders([]config.Dataset{{Type: config.Performance, Agentic: &config.Agentic{RoutingHeaders: []string{"X-Session-ID"}}}}))
}

// The accuracy dataset may stand before the performance dataset: the names are the same.
func TestCase154_DatasetOrder(t *testing.T) {
	t.Parallel()
	performance := "  - {name: replay, agentic_inference: {routing_headers: [X-B, x-a, x-b]}}\n"
	accuracy := "  - {name: swe_bench, type: accuracy, accuracy_config: {eval_method: swe_bench_scorer}}\n"
	plain := "  - {name: plain}\n"
	for _, order := range []string{performance + accuracy, accuracy + performance, plain + accuracy + performance, accuracy + performance + plain} {
		c := parse(t, "datasets:\n"+order+"endpoint_config: {endpoints: [http://e]}\n")
		require.Equal(t, []string{"X-B", "x-a"}, c.RoutingHeaders, order)
	}
	e := refused(t, "datasets:\n"+performance+"  - {name: second, agentic_inference: {}}\n")
	require.Equal(t, "second", e.Dataset)
}

// An empty list in the performance block stays an empty list.
func TestCase155_EmptyListInherited(t *testing.T) {
	t.Parallel()
	c := parse(t, strings.Replace(sound, "path: a.jsonl", "path: a.jsonl, agentic_inference: {routing_headers: []}", 1))
	require.NotNil(t, c.RoutingHeaders)
	require.Empty(t, c.RoutingHeaders)
}

// Header names with CR/LF, spaces, empty text or names of HTTP itself are refused when
// configured, as are null, a text and a list with something else than texts.
func TestCase161_HeaderNamesConfigured(t *testing.T) {
	t.Parallel()
	for _, list := range []string{`[""]`, `["X Y"]`, `["X\r\nY"]`, `[" X"]`, `[Authorization]`, `[host]`, `[Content-Length]`, `[X-A, Cookie]`, `[5]`, `[null]`, `[[X]]`, `null`, `X-Session-ID`, `{}`, `["X:Y"]`} {
		e := refused(t, "datasets:\n  - {name: replay, agentic_inference: {routing_headers: "+list+"}}\n")
		require.Equal(t, "replay", e.Dataset, list)
		require.Equal(t, "datasets[0].agentic_inference.routing_headers", e.Key, list)
	}
}
