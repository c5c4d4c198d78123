package swebench_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench"
	"github.com/stretchr/testify/require"
)

// fields are the members of a sound request, in an order of their own.
func fields() map[string]string {
	return map[string]string{
		"model_name":             `"qwen/qwen3"`,
		"endpoint_urls":          `["http://127.0.0.1:8000/v1"]`,
		"num_instances":          `2`,
		"workers":                `3`,
		"max_eval_workers":       `4`,
		"evaluated_instance_ids": `["a__a-1","b__b-2.x+y"]`,
	}
}

func body(changes ...string) []byte {
	f := fields()
	for i := 0; i < len(changes); i += 2 {
		if changes[i+1] == "" {
			delete(f, changes[i])
			continue
		}
		f[changes[i]] = changes[i+1]
	}
	var members []string
	for k, v := range f {
		members = append(members, fmt.Sprintf("%q:%s", k, v))
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}

func refused(t *testing.T, data []byte) *swebench.RequestError {
	t.Helper()
	r, err := swebench.ParseRunRequest(data)
	require.Nil(t, r, "%s", data)
	var fault *swebench.RequestError
	require.ErrorAs(t, err, &fault, "%s", data)
	require.NotContains(t, err.Error(), "secret")
	return fault
}

func TestRequestDefaults(t *testing.T) {
	t.Parallel()
	r, err := swebench.ParseRunRequest(body())
	require.NoError(t, err)
	require.Equal(t, &swebench.RunRequest{
		ModelName: "qwen/qwen3", EndpointURLs: []string{"http://127.0.0.1:8000/v1"}, RoutingHeaders: []string{"X-Session-ID"},
		GenerationParams: json.RawMessage("{}"), Subset: "verified", Split: "test", NumInstances: 2, Workers: 3, MaxEvalWorkers: 4,
		EvaluatedInstanceIDs: []string{"a__a-1", "b__b-2.x+y"}, Template: "default",
	}, r)
}

func TestRequestWrittenAndRead(t *testing.T) {
	t.Parallel()
	key := "k<&>"
	params := ` {"temperature": 1.0, "seed" : 123456789012345678901234567890, "chat_template_kwargs":{"x":"\ud800<&>"}}`
	r := &swebench.RunRequest{
		ModelName: "m<&>é", EndpointURLs: []string{"https://h"}, EndpointAPIKey: &key, RoutingHeaders: []string{},
		GenerationParams: json.RawMessage(params), Subset: "lite", Split: "dev", NumInstances: 1, Workers: 1, MaxEvalWorkers: 1,
		EvaluatedInstanceIDs: []string{"i"}, Template: "qwen_tools",
	}
	require.NoError(t, r.Validate())
	got, err := r.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, `{"model_name":"m<&>é","endpoint_urls":["https://h"],"endpoint_api_key":"k<&>","generation_params":`+params+
		`,"subset":"lite","split":"dev","num_instances":1,"workers":1,"max_eval_workers":1,"evaluated_instance_ids":["i"],"template":"qwen_tools","routing_headers":[]}`, string(got))
	again, err := swebench.ParseRunRequest(got)
	require.NoError(t, err)
	r.GenerationParams = json.RawMessage(strings.TrimSpace(params))
	require.Equal(t, r, again)

	r.RoutingHeaders, r.EndpointAPIKey, r.GenerationParams = nil, nil, nil
	got, err = r.MarshalJSON()
	require.NoError(t, err)
	require.NotContains(t, string(got), "routing_headers")
	require.Contains(t, string(got), `"endpoint_api_key":null,"generation_params":{},`)
}

// A list of two endpoint URLs, of none, and a URL that is no endpoint are refused.
func TestCase070_EndpointURLs(t *testing.T) {
	t.Parallel()
	for _, urls := range []string{
		`["http://secret:1","http://secret:2"]`, `[]`, `null`, `"http://secret:1"`, `[5]`, `["ftp://secret"]`, `["http://"]`, `["//secret"]`,
		`["secret"]`, `["http://u:secret@h:99999"]`, `["http://u:secret@h:http"]`, `["http:// secret"]`, `["http://secret\n"]`, `[null]`, `["\ud800"]`,
	} {
		require.Equal(t, "endpoint_urls", refused(t, body("endpoint_urls", urls)).Field, urls)
	}
	for _, urls := range []string{`["HTTP://H:0"]`, `["https://u:p@h:65535/p?q=1#f"]`, `["http://[::1]:8000"]`, `["http://localhost"]`} {
		_, err := swebench.ParseRunRequest(body("endpoint_urls", urls))
		require.NoError(t, err, urls)
	}
}

// An unknown key and a known key in another letter case are refused by name, as are a key
// that is there twice and anything after the object.
func TestCase071_UnknownKeysAndSpelling(t *testing.T) {
	t.Parallel()
	require.Equal(t, "extra", refused(t, body("extra", "1")).Field)
	fault := refused(t, body("Split", `"dev"`))
	require.Equal(t, "Split", fault.Field)
	require.Contains(t, fault.Reason, "write it as split")
	require.Equal(t, "workers", refused(t, []byte(`{"workers":1,`+string(body())[1:])).Field)
	require.Equal(t, "generation_params.a", refused(t, body("generation_params", `{"a":1,"a":2}`)).Field)
	require.Equal(t, "generation_params.b.c", refused(t, body("generation_params", `{"b":[{"c":1,"\u0063":2}]}`)).Field)
	for _, data := range []string{"", "{", "null", "[]", `"x"`, "{} {}", string(body()) + "x", "\ufeff" + string(body()), `{"model_name":"` + "\xff" + `"}`} {
		require.Empty(t, refused(t, []byte(data)).Field, data)
	}
	require.Contains(t, refused(t, append(body(), make([]byte, swebench.MaxRequestBytes)...)).Reason, "limit is 1048576")
}

// null for an integer or a list, and for every other field that has no null, is refused
// rather than read as zero.
func TestCase073_Null(t *testing.T) {
	t.Parallel()
	for _, field := range []string{
		"num_instances", "workers", "max_eval_workers", "evaluated_instance_ids", "model_name", "endpoint_urls", "routing_headers",
		"generation_params", "subset", "split", "template",
	} {
		require.Equal(t, field, refused(t, body(field, "null")).Field)
	}
	for _, field := range []string{"num_instances", "workers", "max_eval_workers", "evaluated_instance_ids", "model_name", "endpoint_urls"} {
		require.Equal(t, field, refused(t, body(field, "")).Field)
	}
	r, err := swebench.ParseRunRequest(body("endpoint_api_key", "null"))
	require.NoError(t, err)
	require.Nil(t, r.EndpointAPIKey)
}

func TestRequestIntegers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"2", "2.0", "2e0", "0.2e1", `"2"`, `"002"`, "20E-1"} {
		r, err := swebench.ParseRunRequest(body("workers", text, "num_instances", text, "max_eval_workers", text))
		require.NoError(t, err, text)
		require.Equal(t, []int{2, 2, 2}, []int{r.Workers, r.NumInstances, r.MaxEvalWorkers})
	}
	for _, text := range []string{"true", "false", "0", "-1", "1.5", `"1.0"`, `" 1"`, `"+1"`, `"-1"`, `""`, `"x"`, "[]", "{}", "1e300", "1e999999999", "-0", "2147483648", `"99999999999999999999"`, `"\u0661"`, `"1_0"`} {
		require.Equal(t, "workers", refused(t, body("workers", text)).Field, text)
	}
	require.Contains(t, refused(t, body("workers", `"ten"`)).Reason, `it is "ten"; send an integer`)
	require.Contains(t, refused(t, body("num_instances", "3")).Reason, "evaluated_instance_ids has 2")
}

func TestRequestFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ field, value string }{
		{"model_name", `""`},
		{"model_name", `5`},
		{"model_name", `"\ud800"`},
		{"model_name", `"\\\ud800"`},
		{"model_name", `"\\ufffd\udc00\ufffd"`},
		{"model_name", `"\ud83d\ud83d\ude00"`},
		{"endpoint_api_key", `5`},
		{"endpoint_api_key", `["secret"]`},
		{"endpoint_api_key", `"secret\ud800"`},
		{"generation_params", `[]`},
		{"generation_params", `"x"`},
		{"subset", `"full"`},
		{"subset", `"Verified"`},
		{"subset", `5`},
		{"split", `5`},
		{"template", `"qwen"`},
		{"template", `true`},
		{"evaluated_instance_ids", `[]`},
		{"evaluated_instance_ids", `"ab"`},
		{"evaluated_instance_ids", `["a",5]`},
		{"evaluated_instance_ids", `["a","a"]`},
		{"evaluated_instance_ids", `["a",""]`},
		{"evaluated_instance_ids", `["a","--all"]`},
		{"evaluated_instance_ids", `["a","../b"]`},
		{"evaluated_instance_ids", `["a",".."]`},
		{"evaluated_instance_ids", `["a","b\\c"]`},
		{"evaluated_instance_ids", `["a","b\u0000"]`},
		{"evaluated_instance_ids", `["a","b\n"]`},
		{"evaluated_instance_ids", `["a","` + strings.Repeat("b", 201) + `"]`},
	} {
		require.Equal(t, c.field, refused(t, body(c.field, c.value)).Field, "%s %s", c.field, c.value)
	}
	r, err := swebench.ParseRunRequest(body("model_name", `"\ud83d\ude00 \ufffd \\ud800"`, "endpoint_api_key", `""`, "split", `""`))
	require.NoError(t, err)
	require.Equal(t, "\U0001F600 \ufffd \\ud800", r.ModelName)
	require.NotNil(t, r.EndpointAPIKey)
}

// Integers beyond 64 bits and half surrogates in generation_params are stored as they are.
func TestCase088_GenerationParamsKeptByteForByte(t *testing.T) {
	t.Parallel()
	params := `{"seed": 123456789012345678901234567890,"x":"\ud800","f":1.0,"g":-0e5}`
	data := body("generation_params", params)
	r, err := swebench.ParseRunRequest(data)
	require.NoError(t, err)
	require.Equal(t, params, string(r.GenerationParams))
	clear(data)
	require.Equal(t, params, string(r.GenerationParams), "a copy")
}

// routing_headers that is null, a string or a list with a number is refused.
func TestCase160_RoutingHeadersForm(t *testing.T) {
	t.Parallel()
	for _, v := range []string{`null`, `"X-Session-ID"`, `["X-Session-ID",5]`, `[null]`, `{}`, `true`} {
		require.Equal(t, "routing_headers", refused(t, body("routing_headers", v)).Field, v)
	}
	for v, want := range map[string][]string{`[]`: {}, `["B","a","b","A"]`: {"B", "a"}} {
		r, err := swebench.ParseRunRequest(body("routing_headers", v))
		require.NoError(t, err)
		require.Equal(t, want, r.RoutingHeaders)
	}
}

// Header names with CR/LF, spaces, empty text, or names that HTTP uses itself are refused.
func TestCase161_RoutingHeaderNamesPosted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", " ", "X Y", "X\r\nY", "X-Session-ID ", "Authorization", "host", "CONTENT-LENGTH", "X:Y", "é", "Cookie", "te", strings.Repeat("x", 129)} {
		quoted, err := json.Marshal([]string{"X-Session-ID", name})
		require.NoError(t, err)
		require.Equal(t, "routing_headers", refused(t, body("routing_headers", string(quoted))).Field, name)
		_, err = swebench.HeaderNames([]string{name})
		require.Error(t, err)
	}
	names, err := swebench.HeaderNames(nil)
	require.NoError(t, err)
	require.Nil(t, names)
}

// A name that is there twice is refused with its path, however deep it stands.
func TestRequestDuplicates(t *testing.T) {
	t.Parallel()
	for params, path := range map[string]string{
		`{"a":1,"a":1}`: "generation_params.a",
		`{"x":[1,{"b":{"c":[],"d":2}},{"c\n":1,"c\n":2}]}`: `generation_params.x.c\n`,
		`{"a":{"b":"a"},"b":"a","a":2}`:                    "generation_params.a",
	} {
		require.Contains(t, refused(t, body("generation_params", params)).Error(), path+": ")
	}
	_, err := swebench.ParseRunRequest(body("generation_params", `{"a":{"a":["a","a",{"a":"a"},{"a":"a"}]},"b":{"a":1}}`))
	require.NoError(t, err)
}
