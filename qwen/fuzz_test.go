package qwen_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

// seeds are contents of the kinds that models write, sound and broken.
var seeds = []string{
	"", " \n", "Hello.", "a\n\n```sh\nls <tool_call>\n```\nb", "use `<tool_call>` here", "~~~\n<function=bash>\n~~~\nx",
	"Go.\n<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>\nWait.",
	"<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"echo \\\"a\\\" </tool_call>\"}}\n</tool_call>",
	"<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"echo \"a\"\"}}\n</tool_call>",
	"<think>\nplan </think>\n</think>\n\n<function=bash>\n<parameter=command>\nls\n</function>", "plan</think>ok", "</think>ok",
	"<think>a</think>\n<think> b\n<tool_call>x</think>text `", "<think>\nI list.\n<tool_call>\n<function=finish>\n<parameter=files_modified>\n['a.py']\n</parameter>\n</function>\n</tool_call>\n",
	"{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}", " {\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>\nx", "[1, 2]", "{\"a\": 1}",
	"<tool_call>\n<function=str_replace_editor>\n<parameter=command>\ncreate\n</parameter>\n<parameter=new_str>\n<tool_call>\n<function=bash>\n</function>\n</tool_call>\n</parameter>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
	"<tool_call>\n<function=bash>\n<parameter=command=grep '<tool_call>' x</parameter>\n</function>\n</tool_call>\n</tool_call>",
	"a ``` b\n```\nc ` d\n\n``e`` f\n   ```x`\n", "text\n<think>\n<tool_call>\n</think>\n<tool_call>", "<tool_call>\n```json\n{\"name\":\"bash\"}}\n```\n</tool_call>",
	"    ```\n<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>", "x </function>\n</parameter>\n</tool_call>",
}

var fuzzTools = must(model.ParseTools([]byte(`[
	{"type":"function","function":{"name":"bash","parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}},
	{"type":"function","function":{"name":"finish","parameters":{"type":"object","properties":{"files_modified":{"type":"array","items":{"type":"string"}}},"required":["files_modified"]}}},
	{"type":"function","function":{"name":"str_replace_editor","parameters":{"type":"object","properties":{"command":{"enum":["view","create"]},"path":{"type":"string"},"new_str":{"type":["string","null"]},"view_range":{"type":"array","items":{"type":"integer"}}},"required":["command","path"]}}}
]`)))

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var fuzzModes = []qwen.Options{{}, {PromptOpensThinking: true}, {EnableThinking: new(bool)}, {NullContent: true}}

// message builds an assistant message.
func message(content, reasoning string, arguments *string) json.RawMessage {
	b := append([]byte(`{"role":"assistant","content":`), rawjson.AppendQuoted(nil, content)...)
	if reasoning != "" {
		b = append(append(b, `,"reasoning":`...), rawjson.AppendQuoted(nil, reasoning)...)
	}
	if arguments != nil {
		b = append(b, `,"tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":`...)
		b = append(append(b, rawjson.AppendQuoted(nil, *arguments)...), "}}]"...)
	}
	return append(b, '}')
}

// deltas is the same message in pieces.
func deltas(content, reasoning string, arguments *string, cut func(string) []string) (out []json.RawMessage) {
	for _, part := range cut(reasoning) {
		out = append(out, append(append([]byte(`{"reasoning":`), rawjson.AppendQuoted(nil, part)...), '}'))
	}
	for _, part := range cut(content) {
		out = append(out, append(append([]byte(`{"content":`), rawjson.AppendQuoted(nil, part)...), '}'))
	}
	if arguments != nil {
		out = append(out, []byte(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"bash","arguments":""}}]}`))
		for _, part := range cut(*arguments) {
			b := append([]byte(`{"tool_calls":[{"index":0,"function":{"arguments":`), rawjson.AppendQuoted(nil, part)...)
			out = append(out, append(b, "}}]}"...))
		}
	}
	return out
}

func cutAt(n int) func(string) []string {
	return func(s string) []string {
		for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
			n--
		}
		if n <= 0 || n >= len(s) {
			return []string{s}
		}
		return []string{s[:n], s[n:]}
	}
}

func cutAll(s string) []string { return strings.Split(s, "") }

// checkSplit: a stream gives the same answer as the whole message, and what it shows is
// the beginning of the answer.
func checkSplit(t *testing.T, options qwen.Options, tools *model.Tools, content, reasoning string, arguments *string, reason string, cut func(string) []string) {
	t.Helper()
	dialect := qwen.NewDialect(options)
	req := &model.Request{Tools: tools}
	whole := dialect.NewReader(req)
	require.NoError(t, whole.Message(message(content, reasoning, arguments)))
	want, wantErr := whole.Finish(reason, true)
	parts := dialect.NewReader(req)
	var text, thinking, call strings.Builder
	for _, delta := range deltas(content, reasoning, arguments, cut) {
		require.NoError(t, parts.Delta(delta, func(e model.Event) bool {
			switch e.Kind {
			case model.EventText:
				text.WriteString(e.Text)
			case model.EventReasoning:
				thinking.WriteString(e.Text)
			case model.EventToolCall:
				call.WriteString(e.Text)
			}
			return true
		}))
	}
	got, gotErr := parts.Finish(reason, true)
	require.Equal(t, wantErr, gotErr)
	require.Equal(t, show(want), show(got))
	require.True(t, strings.HasPrefix(got.Text, text.String()), "shown %q of %q", text.String(), got.Text)
	require.True(t, strings.HasPrefix(got.Reasoning, thinking.String()), "shown %q of %q", thinking.String(), got.Reasoning)
	if arguments != nil {
		require.True(t, strings.HasPrefix(*arguments, call.String()))
	}
	checkReplayForm(t, got)
	checkSound(t, got, tools)
}

// show prints an answer.
func show(res *model.Response) string {
	var b strings.Builder
	fmt.Fprintf(&b, "text %q reasoning %q finish %s repairs %v\n%s\n", res.Text, res.Reasoning, res.Finish, res.Repairs, res.Message.JSON())
	for _, call := range res.ToolCalls {
		fmt.Fprintf(&b, "%q %q %s %v\n", call.ID, call.Name, call.Arguments, call.Err)
	}
	return b.String()
}

// checkSound: what is not refused are calls of known tools with objects as arguments.
func checkSound(t *testing.T, res *model.Response, tools *model.Tools) {
	t.Helper()
	for _, call := range res.ToolCalls {
		require.NotEmpty(t, call.ID)
		if call.Err != nil {
			continue
		}
		_, known := tools.Lookup(call.Name)
		require.True(t, known)
		require.NoError(t, rawjson.Valid(call.Arguments))
		require.Equal(t, byte('{'), rawjson.Kind(call.Arguments))
	}
}

// A stream gives the same answer wherever it was split.
func FuzzStreamSplit(f *testing.F) {
	for i, content := range seeds {
		f.Add(content, "", "", byte(i), uint16(3*i))
		f.Add("", content, `{"command": "ls"}`, byte(i), uint16(i))
		f.Add(content, "think <b>\n</think> x", `{"command": "ls`, byte(i+1), uint16(7*i))
	}
	f.Fuzz(func(t *testing.T, content, reasoning, arguments string, mode byte, at uint16) {
		content, reasoning, arguments = strings.ToValidUTF8(content, "?"), strings.ToValidUTF8(reasoning, "?"), strings.ToValidUTF8(arguments, "?")
		options := fuzzModes[int(mode)%len(fuzzModes)]
		tools := fuzzTools
		if mode&16 != 0 {
			tools = nil
		}
		reason := "stop"
		if mode&32 != 0 {
			reason = "length"
		}
		var call *string
		if arguments != "" {
			call = &arguments
		}
		checkSplit(t, options, tools, content, reasoning, call, reason, cutAt(int(at)))
		if len(content)+len(reasoning)+len(arguments) < 2000 {
			checkSplit(t, options, tools, content, reasoning, call, reason, cutAll)
		}
	})
}

// Every split of the seeds gives the same answer.
func TestEverySplit(t *testing.T) {
	t.Parallel()
	for _, options := range fuzzModes {
		for _, content := range seeds {
			for n := range len(content) + 1 {
				checkSplit(t, options, fuzzTools, content, "", nil, "stop", cutAt(n))
				checkSplit(t, options, fuzzTools, "", content, nil, "stop", cutAt(n))
			}
			checkSplit(t, options, fuzzTools, content, "r", nil, "length", cutAll)
			checkSplit(t, options, nil, content, "", nil, "stop", cutAll)
		}
	}
	arguments := `{"command": "echo \"é\" \ud83d\ude80 {}"}{"command": "echo \"é\" \ud83d\ude80 {}"}`
	for n := range len(arguments) + 1 {
		checkSplit(t, qwen.Options{}, fuzzTools, "", "", &arguments, "stop", cutAt(n))
	}
}

// Any message is read without a panic, and what is not refused is sound.
func FuzzMessage(f *testing.F) {
	for i, content := range seeds {
		f.Add([]byte(message(content, "", nil)), byte(i))
		arguments := content
		f.Add([]byte(message(content, content, &arguments)), byte(i))
	}
	f.Add([]byte(`{"content":[{"text":"a"},"b",3],"tool_calls":[null,7,{"id":7,"index":"x","function":{"name":null,"arguments":[1]}}],"function_call":{"name":"bash","arguments":"\"{}\""}}`), byte(0))
	f.Add([]byte(`{"content":"\ud83d <tool_call>\n<function=bash>\n<parameter=command>\n\ud83d\n</parameter></function></tool_call>","reasoning":"\udc00"}`), byte(1))
	f.Fuzz(func(t *testing.T, raw []byte, mode byte) {
		if rawjson.Valid(raw) != nil || rawjson.Kind(raw) != '{' {
			return
		}
		req := &model.Request{Tools: fuzzTools}
		reader := qwen.NewDialect(fuzzModes[int(mode)%len(fuzzModes)]).NewReader(req)
		if reader.Message(raw) != nil {
			return
		}
		res, err := reader.Finish("stop", true)
		require.NoError(t, err)
		checkSound(t, res, fuzzTools)
		_ = qwen.Check(res, fuzzTools)
		require.NoError(t, rawjson.Valid(res.Message.JSON()))
	})
}
