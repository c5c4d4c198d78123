package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/stretchr/testify/require"
)

// streamed answers with the bytes of a stream.
func streamed(text string) roundTrip {
	return func(*http.Request) (*http.Response, error) { return response("text/event-stream", text), nil }
}

// chunkStream is a stream of chunks with these deltas; the last of them has the finish
// reason.
func chunkStream(finish string, deltas ...string) string {
	var b strings.Builder
	for i, delta := range deltas {
		reason := "null"
		if i == len(deltas)-1 {
			reason = quoted(finish)
		}
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, reason)
	}
	return b.String() + "data: [DONE]\n\n"
}

// readStream returns the answer and the events in short.
func readStream(t *testing.T, b *model.Base) (*model.Response, []string) {
	t.Helper()
	stream := b.Stream(routed(), ask("x"))
	var seen []string
	for e, err := range stream.Events() {
		require.NoError(t, err)
		switch e.Kind {
		case model.EventToolCall:
			seen = append(seen, fmt.Sprintf("%d %s %s %s", e.Call, e.ID, e.Name, e.Text))
		case model.EventReasoning:
			seen = append(seen, "("+e.Text+")")
		default:
			seen = append(seen, e.Text)
		}
	}
	res, err := stream.Response()
	require.NoError(t, err)
	return res, seen
}

// calls shows tool calls in short.
func calls(list []model.ToolCall) (all []string) {
	for _, c := range list {
		all = append(all, fmt.Sprintf("%s %s %s %v", c.ID, c.Name, c.Arguments, c.Err != nil))
	}
	return all
}

// An event may be longer than any buffer: 64 KiB and more, up to the limit.
func TestEventsOver64KiB(t *testing.T) {
	t.Parallel()
	for _, size := range []int{64<<10 - 60, 64 << 10, 1<<20 + 1, 5 << 20} {
		text := strings.Repeat("long ", size/5)
		res, seen := readStream(t, through(t, model.Config{}, streamed(chunkStream("stop", `{"content":"begin "}`, `{"content":`+quoted(text)+`}`, `{"content":"end"}`))))
		require.Len(t, seen, 3)
		require.Equal(t, "begin "+text+"end", res.Text)
	}
}

// What keeps a connection alive is no chunk: comments, blocks of retry times or of names
// only, empty data, data that looks like a comment.
func TestKeepAlivesAreNoChunks(t *testing.T) {
	t.Parallel()
	for _, alive := range []string{
		": ping\n\n", ":\n\n", "retry: 3000\n\n", "event: ping\n\n", "id: 7\n\n", "data:\n\n", "data: \n\n", "data\n\n", "data: : keep-alive\n\n",
		"data: null\n\n", "event: ping\ndata: \n\n", "\n\n\n", "\r\n", ": ping\r\n\r\n", "unknown: field\n\n", `data: {"choices":[]}` + "\n\n", "data: {}\n\n", `data: {"type":"ping"}` + "\n\n",
	} {
		whole := alive
		for _, chunk := range []string{roleChunk, wordChunk, wordChunk, stopChunk, "[DONE]"} {
			whole += "data: " + chunk + "\n\n" + alive
		}
		res, seen := readStream(t, through(t, model.Config{}, streamed(whole)))
		require.Equal(t, []string{"word", "word"}, seen, "%q", alive)
		require.Equal(t, "wordword", res.Text, "%q", alive)
		require.Equal(t, model.FinishStop, res.Finish)
	}
}

// An event may be spread over several data lines, and lines may end as any of the three
// ways allow.
func TestEventsOverSeveralLines(t *testing.T) {
	t.Parallel()
	text := "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"word\"}}]}\n\ndata: " + stopChunk + "\n\n"
	for _, end := range []string{"\n", "\r\n", "\r"} {
		res, seen := readStream(t, through(t, model.Config{}, streamed(strings.ReplaceAll(text, "\n", end))))
		require.Equal(t, []string{"word"}, seen, "%q", end)
		require.Equal(t, "word", res.Text)
	}
}

// Where the finish reason stands does not matter: beside the last delta, before more
// deltas, before the usage, twice, or for a call that has not had its arguments yet.
func TestFinishIndependentOfDeltaOrder(t *testing.T) {
	t.Parallel()
	chunk := func(delta, finish, rest string) string {
		return `data: {"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]` + rest + "}\n\n"
	}
	begin := `{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":""}}]}`
	part := func(text string) string {
		return `{"tool_calls":[{"index":0,"function":{"arguments":` + quoted(text) + `}}]}`
	}
	usage := `data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}` + "\n\n"
	for name, text := range map[string]string{
		"own chunk":           chunk(begin, "null", "") + chunk(part(`{"a":`), "null", "") + chunk(part(`1}`), "null", "") + chunk(`{}`, `"tool_calls"`, "") + usage + "data: [DONE]\n\n",
		"beside the last":     chunk(begin, "null", "") + chunk(part(`{"a":`), "null", "") + chunk(part(`1}`), `"tool_calls"`, "") + usage,
		"before the last":     chunk(begin, "null", "") + chunk(part(`{"a":`), `"tool_calls"`, "") + chunk(part(`1}`), "null", "") + usage + "data: [DONE]\n\n",
		"at the beginning":    chunk(begin, `"tool_calls"`, "") + chunk(part(`{"a":1}`), "null", "") + usage + "data: [DONE]\n\n",
		"twice":               chunk(begin, `"tool_calls"`, "") + chunk(part(`{"a":1}`), `"tool_calls"`, "") + usage,
		"usage before":        usage + chunk(begin, "null", "") + chunk(part(`{"a":1}`), `"tool_calls"`, ""),
		"all in one":          chunk(`{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}]}`, `"tool_calls"`, `,"usage":{"prompt_tokens":5,"completion_tokens":2}`),
		"without delta":       chunk(begin, "null", "") + chunk(part(`{"a":1}`), "null", "") + `data: {"choices":[{"index":0,"finish_reason":"tool_calls"}]}` + "\n\n" + usage,
		"with a null delta":   chunk(begin, "null", "") + chunk(part(`{"a":1}`), "null", "") + chunk("null", `"tool_calls"`, "") + usage,
		"usage at each chunk": chunk(begin, "null", `,"usage":{"prompt_tokens":5,"completion_tokens":1}`) + chunk(part(`{"a":1}`), `"tool_calls"`, `,"usage":{"prompt_tokens":5,"completion_tokens":2}`),
	} {
		res, _ := readStream(t, through(t, model.Config{}, streamed(text)))
		require.Equal(t, []string{`1 f {"a":1} false`}, calls(res.ToolCalls), name)
		require.Equal(t, model.FinishToolCalls, res.Finish, name)
		require.Equal(t, 5, res.Usage.PromptTokens, name)
		require.Equal(t, 2, res.Usage.CompletionTokens, name)
	}
}

// An id and a name are set once; what comes empty or null later does not clear them, and
// the event that first knows them has them.
func TestCallKeepsItsID(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		deltas []string
		seen   []string
	}{
		"empty later": {
			[]string{`{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f","arguments":""}}]}`, `{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":"{}"}}]}`},
			[]string{"0 call_1 f ", "0   {}"},
		},
		"null later": {
			[]string{`{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f"}}]}`, `{"tool_calls":[{"index":0,"id":null,"function":{"name":null,"arguments":"{}"}}]}`},
			[]string{"0 call_1 f ", "0   {}"},
		},
		"other later": {
			[]string{`{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f"}}]}`, `{"tool_calls":[{"index":0,"id":"call_2","function":{"arguments":"{}"}}]}`},
			[]string{"0 call_1 f ", "0   {}"},
		},
		"repeated": {
			[]string{`{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f","arguments":"{"}}]}`, `{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f","arguments":"}"}}]}`},
			[]string{"0 call_1 f {", "0   }"},
		},
		"name later": {
			[]string{`{"tool_calls":[{"index":0,"id":"call_1"}]}`, `{"tool_calls":[{"index":0,"function":{"name":"f"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`},
			[]string{"0 call_1  ", "0  f ", "0   {}"},
		},
		"both later": {
			[]string{`{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}`, `{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f","arguments":"}"}}]}`},
			[]string{"0   {", "0 call_1 f }"},
		},
		"no index": {
			[]string{`{"tool_calls":[{"id":"call_1","function":{"name":"f","arguments":"{"}}]}`, `{"tool_calls":[{"function":{"arguments":"}"}}]}`},
			[]string{"0 call_1 f {", "0   }"},
		},
	} {
		res, seen := readStream(t, through(t, model.Config{}, streamed(chunkStream("tool_calls", test.deltas...))))
		require.Equal(t, []string{"call_1 f {} false"}, calls(res.ToolCalls), name)
		require.Equal(t, test.seen, seen, name)
	}
}

// Parallel calls are told apart by whatever the server gives: an index, an id, a name.
func TestParallelCalls(t *testing.T) {
	t.Parallel()
	call := func(head, arguments string) string {
		return `{"tool_calls":[{` + head + `"function":{"arguments":` + quoted(arguments) + `}}]}`
	}
	named := func(head, name, arguments string) string {
		return `{"tool_calls":[{` + head + `"function":{"name":"` + name + `","arguments":` + quoted(arguments) + `}}]}`
	}
	want := []string{`1 f {"a":1} false`, `2 g {"b":2} false`}
	for name, test := range map[string]struct {
		deltas []string
		want   []string
	}{
		"interleaved":      {[]string{named(`"index":0,"id":"1",`, "f", ""), named(`"index":1,"id":"2",`, "g", ""), call(`"index":0,`, `{"a"`), call(`"index":1,`, `{"b"`), call(`"index":0,`, `:1}`), call(`"index":1,`, `:2}`)}, want},
		"sparse":           {[]string{named(`"index":5,"id":"1",`, "f", `{"a":1}`), named(`"index":900,"id":"2",`, "g", `{"b":2}`)}, want},
		"huge":             {[]string{named(`"index":2147483648,"id":"1",`, "f", `{"a":1}`), named(`"index":9223372036854775807,"id":"2",`, "g", `{"b":2}`)}, want},
		"beyond any":       {[]string{named(`"index":1e300,"id":"1",`, "f", `{"a":1}`), named(`"index":99999999999999999999,"id":"2",`, "g", `{"b":2}`)}, want},
		"negative":         {[]string{named(`"index":-1,"id":"1",`, "f", `{"a":1}`), named(`"index":-1,"id":"2",`, "g", `{"b":2}`)}, want},
		"no index":         {[]string{named(`"id":"1",`, "f", `{"a"`), call("", `:1}`), named(`"id":"2",`, "g", `{"b"`), call("", `:2}`)}, want},
		"ids only":         {[]string{named(`"id":"1",`, "f", ""), named(`"id":"2",`, "g", ""), call(`"id":"1",`, `{"a":1}`), call(`"id":"2",`, `{"b":2}`)}, want},
		"one index":        {[]string{named(`"index":0,"id":"1",`, "f", `{"a":1}`), named(`"index":0,"id":"2",`, "g", `{"b":2}`)}, want},
		"names only":       {[]string{named("", "f", `{"a":1}`), named("", "g", `{"b":2}`)}, []string{` f {"a":1} false`, ` g {"b":2} false`}},
		"name repeated":    {[]string{named("", "f", `{"a"`), named("", "f", `:"}"`), named("", "f", `}`)}, []string{` f {"a":"}"} false`}},
		"in one delta":     {[]string{`{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}},{"index":1,"id":"2","function":{"name":"g","arguments":"{\"b\":2}"}}]}`}, want},
		"object arguments": {[]string{`{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":{"a":1}}},{"index":1,"id":"2","function":{"name":"g","arguments":{"b":2}}}]}`}, want},
	} {
		res, _ := readStream(t, through(t, model.Config{}, streamed(chunkStream("tool_calls", test.deltas...))))
		require.Equal(t, test.want, calls(res.ToolCalls), name)
	}
}

// A call from an answer that was cut at the token limit, or whose arguments are no JSON
// object, is unsound; the others of the answer are not.
func TestUnsoundCalls(t *testing.T) {
	t.Parallel()
	deltas := []string{`{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}]}`, `{"tool_calls":[{"index":1,"id":"2","function":{"name":"f","arguments":"{\"a"}}]}`}
	res, _ := readStream(t, through(t, model.Config{}, streamed(chunkStream("length", deltas...))))
	require.Equal(t, []string{"1 f {} false", `2 f {"a true`}, calls(res.ToolCalls))
	require.ErrorContains(t, res.ToolCalls[1].Err, "token limit")
	res, _ = readStream(t, through(t, model.Config{}, streamed(chunkStream("tool_calls", deltas...))))
	require.Equal(t, []string{"1 f {} false", `2 f {"a true`}, calls(res.ToolCalls))
}

// Thinking is read under each of its names, whole and streamed, and goes back to the
// server under the name that it came with.
func TestReasoningNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"reasoning_content", "reasoning"} {
		res, seen := readStream(t, through(t, model.Config{}, streamed(chunkStream("stop", `{"`+name+`":"hm"}`, `{"`+name+`":"m"}`, `{"content":"yes"}`))))
		require.Equal(t, []string{"(hm)", "(m)", "yes"}, seen)
		require.Equal(t, "hmm", res.Reasoning)
		require.Equal(t, "yes", res.Text)
		require.JSONEq(t, `{"role":"assistant","content":"yes","`+name+`":"hmm"}`, string(res.Message.JSON()))

		message := `{"role":"assistant", "` + name + `":"hmm","content":"yes"}`
		res, err := through(t, model.Config{}, func(*http.Request) (*http.Response, error) {
			return response("application/json", `{"choices":[{"message":`+message+`,"finish_reason":"stop"}]}`), nil
		}).Generate(routed(), ask("x"))
		require.NoError(t, err)
		require.Equal(t, "hmm", res.Reasoning)
		require.Equal(t, message, string(res.Message.JSON()), "the received bytes are what is replayed")
	}
	res, _ := readStream(t, through(t, model.Config{}, streamed(chunkStream("stop", `{"reasoning_content":"hm","reasoning":"hm"}`, `{"reasoning":"m","reasoning_content":"m"}`))))
	require.Equal(t, "hmm", res.Reasoning, "a server that sends both names sends one text")
}

// Content that comes in parts is text, and is shown as it comes.
func TestContentParts(t *testing.T) {
	t.Parallel()
	res, seen := readStream(t, through(t, model.Config{}, streamed(chunkStream("stop",
		`{"content":[{"type":"text","text":"a"}]}`, `{"content":[{"type":"text","text":"b"},{"type":"other"},{"type":"text","text":"c"}]}`, `{"content":"d"}`))))
	require.Equal(t, []string{"a", "b", "c", "d"}, seen)
	require.Equal(t, "abcd", res.Text)
}

// Extra members travel as they were written, beside all else, and each call has its own.
func TestExtraMembersTravel(t *testing.T) {
	t.Parallel()
	s, url := serve(t, answer(okAnswer))
	b := open(t, model.Config{BaseURL: url})
	for _, value := range []string{`{"enable_thinking": false}`, `{"enable_thinking":true, "depth":1.00}`} {
		req := ask("x")
		req.Extra = map[string]json.RawMessage{"chat_template_kwargs": json.RawMessage(value), "top_k": json.RawMessage("20")}
		_, err := b.Generate(routed(), req)
		require.NoError(t, err)
	}
	require.Equal(t, `{"messages":[{"role":"user","content":"x"}],"model":"m","chat_template_kwargs":{"enable_thinking": false},"top_k":20}`, s.requests()[0].body)
	require.Equal(t, `{"messages":[{"role":"user","content":"x"}],"model":"m","chat_template_kwargs":{"enable_thinking":true, "depth":1.00},"top_k":20}`, s.requests()[1].body)
}

// What is no stream though one was asked for is recognised by its bytes if its label does
// not tell: an answer, an error, a web page.
func TestStreamThatIsNone(t *testing.T) {
	t.Parallel()
	for _, label := range []string{"application/json", "text/event-stream", "text/plain", "text/html", ""} {
		for body, want := range map[string]error{
			`{"error":{"message":"bad","code":400}}`:                              model.KindBadRequest,
			` {"object":"error","message":"bad","code":404}`:                      model.KindNotFound,
			"<!DOCTYPE html>\n<html>secret</html>":                                model.KindResponse,
			"\n" + okAnswer:                                                       nil,
			`{"choices":[{"message":{"role":"assistant","content":"fine"`:         model.KindTruncated,
			`{"choices":[{"index":0,"message":null}],"object":"chat.completion"}`: model.KindResponse,
		} {
			if label == "text/html" && body[0] != '<' {
				continue // a page, whatever is in it
			}
			b := through(t, model.Config{Retry: model.Retry{Max: -1}}, func(*http.Request) (*http.Response, error) { return response(label, body), nil })
			res, err := b.Stream(routed(), ask("x")).Response()
			if want == nil {
				require.NoError(t, err, "%s %s", label, body)
				require.Equal(t, "fine", res.Text)
				continue
			}
			require.ErrorIs(t, err, want, "%s %s", label, body)
			var failure *model.Error
			require.ErrorAs(t, err, &failure)
			require.NotEmpty(t, failure.Body, "%s %s", label, body)
			require.NotContains(t, err.Error(), "secret")
		}
	}
}

// A stream of nothing but its end mark has no answer in it.
func TestStreamOfNothing(t *testing.T) {
	t.Parallel()
	attempts := 0
	b := through(t, model.Config{}, func(*http.Request) (*http.Response, error) {
		attempts++
		return response("text/event-stream", "data: [DONE]\n\n"), nil
	})
	_, err := b.Stream(routed(), ask("x")).Response()
	require.ErrorIs(t, err, model.ErrTruncated)
	require.Equal(t, 5, attempts)
}
