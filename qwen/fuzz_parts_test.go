package qwen

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
	"github.com/stretchr/testify/require"
)

// What the lenient scan takes without a fault is JSON once its edits are done, and sound
// JSON has no edits.
func FuzzLenientJSON(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":[1,2,],}`, "{\"a\":\"x\ny\"}", `{"a":1}}`, `[1 2]`, `{"a`, `tru`, `-`, `1e`, `"\u12"`, `"\ud83d"`, `{"a":}`, `[,]`,
		"\ufeff{}", `{"a":1,"b"`, strings.Repeat("[", 100), `{"a":"\x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		s := scanJSON(text, 0)
		require.Equal(t, before, text)
		if s.fault == nil {
			value := s.mended(text[:s.end:s.end], 0)
			require.NoError(t, rawjson.Valid(value), "%q", value)
		} else {
			require.LessOrEqual(t, s.fault.at, len(text))
		}
		if only, err := rawjson.Only(text); err == nil {
			require.Nil(t, s.fault)
			require.Empty(t, s.edits)
			require.Equal(t, string(only), strings.Trim(string(text[:s.end]), blanks))
		}
		d := decodeArguments(text)
		require.Equal(t, before, text)
		if d.kind == "" {
			require.NoError(t, rawjson.Valid(d.object))
			require.Equal(t, byte('{'), rawjson.Kind(d.object))
		}
	})
}

// Values that a schema takes come back valid, and a second pass changes nothing. A value
// that fits already keeps its bytes.
func FuzzCoerce(f *testing.F) {
	schemas := []string{
		`{"type":"integer"}`, `{"type":"number"}`, `{"type":"boolean"}`, `{"type":"array","items":{"type":"integer"}}`,
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"type":["integer","null"]}`, `{"enum":["a","b",3]}`,
		`{"$defs":{"x":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/x"}},{"type":"array","items":{"$ref":"#/$defs/x"}},{"type":"integer"}]}},"$ref":"#/$defs/x"}`,
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"array","items":[{"type":"string"},{"type":"boolean"}]}},"required":["a"],"additionalProperties":{"type":"string"}}`,
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#/a"},{"type":"integer"}]}`, `{"nullable":true,"type":"array"}`, `{"const":1.0}`, `{}`, `7`,
	}
	for i, value := range []string{"3", `"3"`, "3.0", "-1e3", "1e99999999999", "True", "yes", `["1", 2.0]`, "['a', None]", "null", "None", `{"a":"1","b":["x","true"],"c":1}`, `"[1]"`, " a ", "", "[[[[1]]]]", "{'k': \"it's\"}"} {
		for j := range schemas {
			f.Add(value, schemas[(i+j)%len(schemas)])
		}
	}
	f.Fuzz(func(t *testing.T, text, document string) {
		if !utf8.ValidString(text) || !json.Valid([]byte(document)) {
			return
		}
		variants := schema{root: []byte(document), node: []byte(document)}.variants()
		check := func(got []byte, fault *fault) {
			if fault != nil {
				require.NotEmpty(t, fault.reason)
				require.NotEmpty(t, fault.kind)
				return
			}
			require.NoError(t, rawjson.Valid(got), "%q", got)
			again, fault := newCoercer(len(got)).value(got, variants)
			require.Nil(t, fault)
			require.Equal(t, string(got), string(again))
		}
		check(newCoercer(len(text)).xml(text, variants))
		if value, err := rawjson.Only([]byte(text)); err == nil {
			check(newCoercer(len(text)).value(value, variants))
		}
	})
}

// Whatever stands in a text, the calls found lie in it in order, and what is cut out of the
// text is only calls and tags.
func FuzzXML(f *testing.F) {
	for _, s := range []string{
		"<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
		"<function=bash><parameter=command=ls</parameter></function>", "<tool_call><function=bash>\n<parameter=command\nls</parameter>",
		"<tool_call>\n<function=bash>\n<parameter=command>\n<tool_call>\n</parameter>\n</function>\n</tool_call>\n</parameter>\n</function>\n</tool_call>",
		"<tool_call>{\"name\":\"bash\",\"arguments\":{}}{\"name\":\"bash\"}</tool_call>", "<tool_call>[{\"name\":\"bash\"}]</tool_call>",
		"<function=bash>{\"command\":\"ls\"}</function>", "<tool_call>\n<function=bash>\njunk\n</function></tool_call>x</tool_call>",
		"<tool_call><function=bash></parameter></parameter><tool_call><function='bash' ></tool_call>", "`<tool_call>`\n```\n<tool_call>\n```\n<think>\n</think>",
	} {
		f.Add(s)
	}
	tools, err := model.ParseTools([]byte(`[{"type":"function","function":{"name":"bash","parameters":{"type":"object","properties":{"command":{"type":"string"},"n":{"type":"integer"}},"required":["command"]}}}]`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range []catalog{{tools: tools}, {open: true}} {
			found := findCalls(text, c)
			at := 0
			for _, gone := range mergeSpans(found.gone, found.stray) {
				require.GreaterOrEqual(t, gone.from, at)
				require.Greater(t, gone.to, gone.from)
				at = gone.to
			}
			require.LessOrEqual(t, at, len(text))
			for i := range found.calls {
				require.Less(t, found.calls[i].from, found.calls[i].to)
			}
			calls, before := found.trailing()
			require.True(t, strings.HasPrefix(text, before) || len(calls) == 0)
			j := judge{tools: c, repairs: new(repairs)}
			for _, call := range j.calls(found.calls, false) {
				require.NoError(t, rawjson.Valid(call.replay))
			}
			_ = found.rest(true)
		}
	})
}

// A history that was replayed once is not changed again.
func FuzzReplay(f *testing.F) {
	for _, s := range []string{
		`[{"role":"user","content":"a"},{"role":"assistant","content":"<think>x</think>y <tool_call>\n<function=bash>\n</function>\n</tool_call>"},{"role":"tool","content":{"a":1}}]`,
		`[{"role":"system","content":[{"type":"text","text":"a"}]},{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"","function":{"name":" b ","arguments":"{\"a\":1,}"}},{"id":"x","function":{"name":"","arguments":{}}}],"reasoning":"r"},{"role":"tool","tool_call_id":"x","content":null},{"role":"system","content":"b"}]`,
		`[{"role":"user","content":"<tool_response>\n</tool_response>"},{"role":"assistant","content":null,"function_call":{"name":"a","arguments":"{"}},{"role":"function","name":"a","content":"r"},{"role":"user","content":"a"},{"role":"assistant","content":"a\n</tool_call>","tool_calls":[{"id":"x","type":"function","function":{"name":"a","arguments":"{}"}}]}]`,
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, null bool) {
		if rawjson.Valid(raw) != nil || rawjson.Kind(raw) != '[' {
			return
		}
		var history []model.Message
		for e := rawjson.Elements(raw); e.Next(); {
			if m, err := model.Raw(e.Value); err == nil {
				history = append(history, m)
			}
		}
		options := Options{NullContent: null}
		once, err := Replay(history, nil, options)
		if err != nil {
			require.ErrorIs(t, err, KindBadHistory)
			return
		}
		twice, err := Replay(once, nil, options)
		require.NoError(t, err)
		require.Len(t, twice, len(once))
		for i := range once {
			require.Equal(t, string(once[i].JSON()), string(twice[i].JSON()))
		}
	})
}
