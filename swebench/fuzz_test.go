package swebench_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/homing-go/homing/swebench"
	"github.com/stretchr/testify/require"
)

// What is accepted is what a reading by encoding/json, held to the schema, accepts; and it
// survives being written and read again.
func FuzzRunRequest(f *testing.F) {
	f.Add([]byte(`{"model_name":"m","endpoint_urls":["http://h:1"],"num_instances":1,"workers":"2","max_eval_workers":3.0,"evaluated_instance_ids":["a"],"routing_headers":["X-A","x-a"],"generation_params":{"a":{"b":1e400}},"endpoint_api_key":"k","subset":"lite","split":"s","template":"qwen_tools"}`))
	f.Add([]byte(`{"model_name":"\ud83d\ude00","endpoint_urls":["https://u:p@[::1]:65535/?q#f"],"num_instances":1e0,"workers":1,"max_eval_workers":1,"evaluated_instance_ids":["\u00e9"],"routing_headers":[]}`))
	for _, c := range [][2]string{{"workers", "true"}, {"routing_headers", "null"}, {"Workers", "1"}, {"num_instances", "null"}, {"workers", "1.5"}, {"endpoint_api_key", "5"}, {"generation_params", `{"a":1,"a":1}`}, {"model_name", `"\ud800"`}} {
		f.Add(body(c[0], c[1]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := swebench.ParseRunRequest(data)
		if err != nil {
			var fault *swebench.RequestError
			require.ErrorAs(t, err, &fault)
			require.Less(t, len(err.Error()), 1000)
			return
		}
		require.True(t, schemaAccepts(data), "%q", data)
		require.NoError(t, r.Validate())
		written, err := r.MarshalJSON()
		require.NoError(t, err)
		again, err := swebench.ParseRunRequest(written)
		require.NoError(t, err, "%q", written)
		require.Equal(t, r, again)
		require.Contains(t, string(data), string(r.GenerationParams[1:len(r.GenerationParams)-1]))
	})
}

// schemaAccepts reads the types of the schema with encoding/json.
func schemaAccepts(data []byte) bool {
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if !utf8.Valid(data) || d.Decode(&m) != nil || !json.Valid(data) || m == nil {
		return false
	}
	known := strings.Fields("model_name endpoint_urls endpoint_api_key routing_headers generation_params subset split num_instances workers max_eval_workers evaluated_instance_ids template")
	for name, v := range m {
		if !slices.Contains(known, name) || v == nil && name != "endpoint_api_key" {
			return false
		}
	}
	integer := func(name string) float64 {
		text := ""
		switch v := m[name].(type) {
		case json.Number:
			text = string(v)
		case string:
			if strings.ContainsFunc(v, func(r rune) bool { return r < '0' || r > '9' }) {
				return -1
			}
			text = v
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n != math.Trunc(n) {
			return -1
		}
		return n
	}
	list := func(name string) int {
		v, ok := m[name].([]any)
		for _, e := range v {
			_, isText := e.(string)
			ok = ok && isText
		}
		if !ok {
			return -1
		}
		return len(v)
	}
	text := func(name, absent string, allowed ...string) bool {
		v, ok := m[name]
		if !ok {
			v = absent
		}
		s, ok := v.(string)
		return ok && (len(allowed) == 0 || slices.Contains(allowed, s))
	}
	_, paramsOK := m["generation_params"].(map[string]any)
	_, keyOK := m["endpoint_api_key"].(string)
	name, _ := m["model_name"].(string)
	return name != "" && list("endpoint_urls") == 1 && (keyOK || m["endpoint_api_key"] == nil) &&
		(m["routing_headers"] == nil || list("routing_headers") >= 0) && (m["generation_params"] == nil || paramsOK) &&
		text("subset", "lite", "lite", "verified") && text("split", "") && text("template", "default", "default", "qwen_tools") &&
		integer("workers") >= 1 && integer("max_eval_workers") >= 1 && list("evaluated_instance_ids") >= 1 &&
		int(integer("num_instances")) == list("evaluated_instance_ids")
}

func FuzzHeaderNames(f *testing.F) {
	for _, s := range []string{"X-Session-ID", "X-Session-ID\nx-session-id", "a\nb\nA", "", "Host", "X\r", "x_y", "é", "X-\x00", strings.Repeat("a", 129)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		names := strings.Split(s, "\n")
		kept, err := swebench.HeaderNames(names)
		if err != nil {
			require.Nil(t, kept)
			return
		}
		require.LessOrEqual(t, len(kept), 16)
		seen := map[string]bool{}
		for _, name := range kept {
			require.Regexp(t, "^[!#$%&'*+.^`|~0-9A-Za-z-]{1,128}$", name)
			require.NotContains(t, []string{"authorization", "host", "cookie", "content-length"}, strings.ToLower(name))
			require.False(t, seen[strings.ToLower(name)])
			seen[strings.ToLower(name)] = true
			require.Contains(t, names, name)
		}
		again, err := swebench.HeaderNames(kept)
		require.NoError(t, err)
		require.Equal(t, kept, again)
	})
}

func FuzzParseStatus(f *testing.F) {
	for _, s := range []string{`{"run_id":"r","status":"running","agent_total":1e400,"eval_total":"1_0","artifacts":{"a":"b"}}`, `{"result":{"submitted_instances":1,"resolved_instances":"1"}}`, `[]`, `{"artifacts":[[],{"name":"\ud800","url":""}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := swebench.ParseStatus(data)
		if err != nil {
			require.Zero(t, v)
			return
		}
		require.True(t, json.Valid(data))
		for _, n := range []*int{v.Progress.AgentTotal, v.Progress.AgentCompleted, v.Progress.EvalTotal, v.Progress.EvalCompleted} {
			require.True(t, n == nil || *n >= 0)
		}
		if v.Result != nil {
			require.True(t, json.Valid(v.Result))
			if c, err := swebench.ParseCounters(v.Result); err == nil {
				require.True(t, c.Submitted >= 0 && c.Resolved >= 0)
			}
		}
	})
}
