package model

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/stretchr/testify/require"
)

// plainChoice is the choice with index 0 as encoding/json reads it; of several the last
// counts.
func plainEnvelope(t *testing.T, text []byte) (delta, finish, usage, failure string, ok bool) {
	t.Helper()
	var top map[string]json.RawMessage
	if json.Unmarshal(text, &top) != nil || top == nil {
		return "", "", "", "", false
	}
	value := func(m map[string]json.RawMessage, name string) string {
		if v := string(m[name]); v != "null" {
			return v
		}
		return ""
	}
	var choices []json.RawMessage
	_ = json.Unmarshal(top["choices"], &choices)
	for _, c := range choices {
		var choice map[string]json.RawMessage
		if json.Unmarshal(c, &choice) != nil || choice == nil {
			continue
		}
		if index := value(choice, "index"); index == "" || index == "0" {
			delta, finish = value(choice, "delta"), value(choice, "finish_reason")
		}
	}
	if failure = value(top, "error"); string(top["object"]) == `"error"` {
		failure = string(text)
	}
	return delta, finish, value(top, "usage"), failure, true
}

var chunkSamples = []string{
	`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`,
	`{"id":"x","choices":[{"delta":{"content":"{\"delta\":{}}"},"index":0}],"usage":null}`,
	`{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}`,
	`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`,
	`{"choices":[{"index":0,"delta":null}]}`, `{"choices":[]}`, `{"choices":null}`, `{"choices":[null,1,{"delta":{}}]}`,
	`{"error":{"message":"x"}}`, `{"object":"error","message":"x"}`, `null`, `[]`, `{`, `{"choices":[{"index":0,"delta":{"content":"a"}}]`,
	`{"choices":[{"index":2147483648,"delta":{"content":"a"}}]}`,
}

func checkEnvelope(t *testing.T, text []byte) {
	t.Helper()
	delta, finish, usage, failure, ok := plainEnvelope(t, text)
	e, err := readEnvelope(text)
	require.Equal(t, ok, err == nil, "%q: %v", text, err)
	if !ok || strings.Contains(string(text), "message") { // plain answers have another name for it
		return
	}
	require.Equal(t, []string{delta, finish, usage, failure}, []string{string(e.message), string(e.finish), string(e.usage), strings.TrimSpace(string(e.failure))})
	if e.message != nil {
		require.Equal(t, string(e.message), string(text[e.at:e.at+len(e.message)]))
	}
}

// What the shortcut for chunks of a known form returns is what reading them would.
func checkForm(t *testing.T, first, second []byte) {
	t.Helper()
	var form chunkForm
	e, err := readEnvelope(first)
	if err != nil {
		return
	}
	form.learn(first, &e)
	got := form.delta(second)
	if got == nil || rawjson.Valid(got) != nil {
		return
	}
	want, err := readEnvelope(second)
	require.NoError(t, err)
	require.Equal(t, string(want.message), string(got))
	require.Nil(t, want.finish)
	require.Nil(t, want.usage)
	require.Nil(t, want.failure)
}

func TestChunks(t *testing.T) {
	t.Parallel()
	for _, a := range chunkSamples {
		checkEnvelope(t, []byte(a))
		for _, b := range chunkSamples {
			checkForm(t, []byte(a), []byte(b))
		}
	}
	var form chunkForm
	e, err := readEnvelope([]byte(chunkSamples[0]))
	require.NoError(t, err)
	form.learn([]byte(chunkSamples[0]), &e)
	text := func(delta string) []byte {
		return []byte(strings.Replace(chunkSamples[0], `{"content":"a"}`, delta, 1))
	}
	require.Equal(t, `{"content":"b\"c"}`, string(form.delta(text(`{"content":"b\"c"}`))))
	for _, other := range []string{`{"content":"b"},"x":{"y":1}`, `null`, `{"content":"b"`, ``, `{"content":"b"}},{"delta":{"content":"c"}`} {
		require.Error(t, rawjson.Valid(form.delta(text(other))), other)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Usage{
		`{"prompt_tokens":9,"completion_tokens":2}`:                                         {PromptTokens: 9, CompletionTokens: 2},
		`{"prompt_tokens":9,"prompt_tokens_details":null}`:                                  {PromptTokens: 9},
		`{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":0}}`:                   {PromptTokens: 9, HasCached: true},
		`{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":8}}`:                   {PromptTokens: 9, CachedTokens: 8, HasCached: true},
		`{"prompt_tokens":9,"prompt_cache_hit_tokens":7,"prompt_cache_miss_tokens":2}`:      {PromptTokens: 9, CachedTokens: 7, HasCached: true},
		`{"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":3}}`:        {CompletionTokens: 5, ReasoningTokens: 3},
		`{"prompt_tokens":-1,"completion_tokens":1e300}`:                                    {CompletionTokens: 1 << 40},
		`{"prompt_tokens":9.0,"completion_tokens":2e0,"prompt_tokens_details":{"other":1}}`: {PromptTokens: 9, CompletionTokens: 2},
		`[]`: {}, `"x"`: {}, `{"prompt_tokens":"9"}`: {},
	} {
		require.Equal(t, want, readUsage([]byte(text)), text)
	}
	require.Zero(t, readUsage(nil))
}

func FuzzChunk(f *testing.F) {
	for _, a := range chunkSamples {
		f.Add([]byte(a), []byte(chunkSamples[0]))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		checkEnvelope(t, first)
		checkForm(t, first, second)
		// Deltas of other chunks in the form of the first.
		e, err := readEnvelope(first)
		other, err2 := readEnvelope(second)
		if err == nil && err2 == nil && e.message != nil && other.message != nil {
			joined := append(append(append([]byte{}, first[:e.at]...), other.message...), first[e.at+len(e.message):]...)
			checkForm(t, first, joined)
		}
	})
}
