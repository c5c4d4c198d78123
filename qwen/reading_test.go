package qwen_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

// calledIn reads a content and returns its calls as "name arguments" or "name kind", and
// the text that is left.
func calledIn(t *testing.T, options qwen.Options, content string) (calls []string, text string) {
	t.Helper()
	reader := qwen.NewDialect(options).NewReader(&model.Request{Tools: fuzzTools})
	require.NoError(t, reader.Message(message(content, "", nil)))
	res, err := reader.Finish("stop", true)
	require.NoError(t, err)
	for _, c := range res.ToolCalls {
		result := string(c.Arguments)
		if c.Err != nil {
			result = string(qwen.KindOf(c.Err))
		}
		calls = append(calls, c.Name+" "+result)
	}
	return calls, res.Text
}

// xmlCall writes a call of bash as the templates do.
func xmlCall(command string) string {
	return "<tool_call>\n<function=bash>\n<parameter=command>\n" + command + "\n</parameter>\n</function>\n</tool_call>"
}

// Calls are found in the text in either form and with the tags that models leave out; an
// example of a call, in code or in closed thinking, is none.
func TestCallsInText(t *testing.T) {
	t.Parallel()
	ls := xmlCall("ls")
	for name, test := range map[string]struct {
		content string
		calls   []string
		text    string
	}{
		"glued to text":                  {"Go:" + ls + "Done.", []string{`bash {"command":"ls"}`}, "Go:\nDone."},
		"in one line":                    {"<tool_call><function=bash><parameter=command>ls</parameter></function></tool_call>", []string{`bash {"command":"ls"}`}, ""},
		"no wrapper":                     {"<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>", []string{`bash {"command":"ls"}`}, ""},
		"only the wrapper closes":        {"<tool_call>\n<function=bash>\n<parameter=command>\nls\n</tool_call>", []string{`bash {"command":"ls"}`}, ""},
		"a word in prose":                {"Use <function=bash> or <tool_call> for that.", nil, "Use <function=bash> or <tool_call> for that."},
		"a word and a call":              {"The <tool_call> tag:\n" + ls, []string{`bash {"command":"ls"}`}, "The <tool_call> tag:"},
		"JSON arguments in the function": {"<tool_call>\n<function=bash>\n{\"command\": \"ls\"}\n</function>\n</tool_call>", []string{`bash {"command": "ls"}`}, ""},
		"text in the function":           {"<tool_call>\n<function=bash>\nls\n</function>\n</tool_call>", []string{"bash missing_param"}, ""},
		"text beside the parameter":      {"<tool_call>\n<function=bash>\nnow\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>", []string{"bash bad_json"}, ""},
		"no name":                        {"<tool_call>\n<function=>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>", []string{" missing_name"}, ""},
		"another case":                   {strings.Replace(ls, "bash", "Bash", 1), []string{"Bash unknown_tool"}, ""},
		"bracket behind a name missing":  {"<tool_call>\n<function=bash>\n<parameter=command\nls\n</parameter>\n</function>\n</tool_call>", []string{`bash {"command":"ls"}`}, ""},
		"an opener as a word in a value": {xmlCall("grep '<tool_call>' x"), []string{`bash {"command":"grep '<tool_call>' x"}`}, ""},
		"a closer as a word in a value":  {xmlCall("sed 's#</tool_call>##' x\n</function> y"), []string{`bash {"command":"sed 's#</tool_call>##' x\n</function> y"}`}, ""},
		"a call begun again":             {"<tool_call>\n<function=bash>\n<parameter=command>\nls\n" + ls, []string{"bash incomplete_args"}, ""},
		"white space of a value":         {xmlCall("\n\t ls \n\n"), []string{`bash {"command":"\n\t ls \n\n"}`}, ""},
		"carriage return at the end":     {xmlCall("ls\r"), []string{`bash {"command":"ls\r"}`}, ""},
		"no line breaks around a value":  {"<tool_call><function=bash><parameter=command> ls </parameter></function></tool_call>", []string{`bash {"command":" ls "}`}, ""},
		"an example of a call in a value": {
			xmlCall("cat <<E\n<tool_call>\n...\n</parameter>\n</function>\n</tool_call>\nE"),
			[]string{`bash {"command":"cat <<E\n<tool_call>\n...\n</parameter>\n</function>\n</tool_call>\nE"}`},
			"",
		},
		"a parameter as a word in a value": {
			"<tool_call>\n<function=str_replace_editor>\n<parameter=command>\ncreate\n</parameter>\n<parameter=new_str>\nsee <parameter=path> and\n<parameter=command>\n</parameter>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
			[]string{`str_replace_editor {"command":"create","new_str":"see <parameter=path> and\n<parameter=command>","path":"a"}`},
			"",
		},
		"CRLF around a value":             {"<tool_call>\r\n<function=bash>\r\n<parameter=command>\r\nls\r\n</parameter>\r\n</function>\r\n</tool_call>", []string{`bash {"command":"ls"}`}, ""},
		"two JSON objects in one wrapper": {`<tool_call>{"name":"bash","arguments":{"command":"a"}}` + "\n" + `{"name":"bash","arguments":{"command":"b"}}</tool_call>`, []string{`bash {"command":"a"}`, `bash {"command":"b"}`}, ""},
		"one JSON object twice":           {`<tool_call>{"name":"bash","arguments":{"command":"a"}}{"name":"bash","arguments":{"command":"a"}}</tool_call>`, []string{`bash {"command":"a"}`}, ""},
		"a JSON list":                     {`<tool_call>[{"name":"bash","arguments":{"command":"a"}}]</tool_call>`, []string{`bash {"command":"a"}`}, ""},
		"JSON in a fence in a wrapper":    {"<tool_call>\n```json\n{\"name\":\"bash\",\"arguments\":{\"command\":\"a\"}}\n```\n</tool_call>", []string{`bash {"command":"a"}`}, ""},
		"JSON in a fence, in one line":    {"<tool_call>```{\"name\":\"bash\",\"arguments\":{\"command\":\"a\"}}```</tool_call>", []string{`bash {"command":"a"}`}, ""},
		"arguments as text":               {`<tool_call>{"name":"bash","arguments":"{\"command\":\"a\"}"}</tool_call>`, []string{`bash {"command":"a"}`}, ""},
		"brackets too many":               {`<tool_call>{"name":"bash","arguments":{"command":"a"}}}}</tool_call>`, []string{`bash {"command":"a"}`}, ""},
		"a bracket missing, nothing else": {`<tool_call>{"name":"bash","arguments":{"command":"a"}`, []string{`bash {"command":"a"}`}, ""},
		"arguments cut":                   {`<tool_call>{"name":"bash","arguments":{"command":"a"`, []string{"bash incomplete_args"}, ""},
		"another member cut":              {`<tool_call>{"name":"bash","arguments":{"command":"a"},"x":{"y":1</tool_call>`, []string{"bash bad_json"}, ""},
		"text in the wrapper":             {`<tool_call>{"name":"bash","arguments":{"command":"a"}} now</tool_call>`, []string{"bash bad_json"}, ""},
		"broken, and a sound one":         {`<tool_call>{'name':'bash'}</tool_call>` + ls, []string{" bad_json", `bash {"command":"ls"}`}, ""},
		"JSON, the opener swallowed":      {`{"name":"bash","arguments":{"command":"a"}}` + "\n</tool_call>\n" + `<tool_call>{"name":"bash","arguments":{"command":"b"}}</tool_call>`, []string{`bash {"command":"a"}`, `bash {"command":"b"}`}, ""},
		"JSON of another tool, the same":  {`{"name":"x","arguments":{}}` + "\n</tool_call>", nil, `{"name":"x","arguments":{}}` + "\n</tool_call>"},
		"JSON in thinking, the same":      {`<think>{"name":"bash","arguments":{"command":"a"}}` + "\n</tool_call>", nil, ""},
		"no name in JSON":                 {`<tool_call>{"command":"ls"}</tool_call>`, []string{" missing_name"}, ""},
		"the form of the system prompt":   {"<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>", nil, "<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>"},
		"a placeholder as a name":         {`<tool_call>{"name":"{{ fn }}","arguments":{}}</tool_call>`, nil, `<tool_call>{"name":"{{ fn }}","arguments":{}}</tool_call>`},
		"a lone backtick":                 {"A ` tick.\n\n" + ls, []string{`bash {"command":"ls"}`}, "A ` tick."},
		"inline code over lines":          {"`" + ls + "`", nil, "`" + ls + "`"},
		"double backticks":                {"``" + ls + "`` " + "```x``` " + ls, []string{`bash {"command":"ls"}`}, "``" + ls + "`` ```x```"},
		"a tick in a fence closes none":   {"a ` b\n```\n` " + ls + "\n```", nil, "a ` b\n```\n` " + ls + "\n```"},
		"a fence that is not closed":      {"```\n" + ls, nil, "```\n" + ls},
		"a longer fence":                  {"````\n```\n" + ls + "\n````\n" + ls, []string{`bash {"command":"ls"}`}, "````\n```\n" + ls + "\n````"},
		"tildes do not close backticks":   {"```\n~~~\n" + ls + "\n```", nil, "```\n~~~\n" + ls + "\n```"},
		"closed thinking in the text":     {"Well.\n<think>\n" + ls + "\n</think>\nNo.", nil, "Well.\n<think>\n" + ls + "\n</think>\nNo."},
		"thinking twice":                  {"<think>a</think>\n<think>" + ls + "</think>\n" + xmlCall("pwd"), []string{`bash {"command":"pwd"}`}, ""},
		"closed thinking only":            {"<think>" + ls + "</think>", nil, ""},
		"unclosed thinking, two calls":    {"<think>a\n" + ls + "\n" + xmlCall("pwd"), []string{`bash {"command":"ls"}`, `bash {"command":"pwd"}`}, ""},
		"unclosed, one of them unknown":   {"<think>a\n" + ls + "\n<tool_call>\n<function=no>\n</function>\n</tool_call>", nil, ""},
		"unclosed, not at the end":        {"<think>a\n" + ls + "\nor not", nil, ""},
		"unclosed, not whole":             {"<think>a\n<tool_call>\n<function=bash>\n<parameter=command>\nls\n</function>\n</tool_call>", nil, ""},
		"a closer without thinking":       {"a</think>b", nil, "a</think>b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls, text := calledIn(t, qwen.Options{}, test.content)
			require.Equal(t, test.calls, calls)
			require.Equal(t, test.text, text)
		})
	}
}

// A call that ends thinking counts when the thinking came apart and there is no content,
// and not when the content closes thinking of its own.
func TestCallsInReasoning(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]int{"": 1, "\n": 1, "<think>\n\n</think>\n": 0, "Done.": 0} {
		reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{Tools: fuzzTools})
		require.NoError(t, reader.Message(message(content, "I list.\n"+xmlCall("ls"), nil)))
		res, err := reader.Finish("stop", true)
		require.NoError(t, err)
		require.Len(t, res.ToolCalls, want, "%q", content)
	}
}

// Values are fitted to the schema when they have one reading in its type; texts are never
// touched.
func TestValuesFitTheSchema(t *testing.T) {
	t.Parallel()
	tools := must(model.ParseTools([]byte(`[{"type":"function","function":{"name":"f","parameters":{"type":"object","$defs":{"n":{"$ref":"#/$defs/m"},"m":{"type":"integer"}},"properties":{
		"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"a":{"type":"array","items":{"type":"integer"}},"o":{"type":"object","properties":{"k":{"type":"integer"}},"required":["k"]},
		"s":{"type":"string"},"sn":{"type":["string","null"]},"in":{"anyOf":[{"type":"integer"},{"type":"null"}]},"nn":{"type":"integer","nullable":true},"si":{"type":["string","integer"]},
		"e":{"type":"string","enum":["x","y z"]},"en":{"enum":[1,2]},"c":{"const":"k"},"r":{"$ref":"#/$defs/n"},"lost":{"$ref":"#/$defs/none"},"any":{},
		"all":{"allOf":[{"description":"d"},{"$ref":"#/$defs/m"}]},"t":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]},"path":{"type":"string"}
	}}}}]`)))
	read := func(arguments string, xml bool) string {
		reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{Tools: tools})
		raw := message("", "", &arguments)
		if xml {
			raw = message(arguments, "", nil)
		}
		require.NoError(t, reader.Message([]byte(strings.Replace(string(raw), `"name":"bash"`, `"name":"f"`, 1))))
		res, err := reader.Finish("stop", true)
		require.NoError(t, err)
		require.Len(t, res.ToolCalls, 1)
		var e *qwen.CallError
		if errors.As(res.ToolCalls[0].Err, &e) {
			return string(e.Kind) + " " + e.Param
		}
		return string(res.ToolCalls[0].Arguments)
	}
	for in, want := range map[string]string{
		`{"i": 3.0}`: `{"i": 3}`, `{"i": "3"}`: `{"i": 3}`, `{"i": 1e2}`: `{"i": 100}`, `{"i": -0.0}`: `{"i": 0}`, `{"i": 12345678901234567890}`: `{"i": 12345678901234567890}`,
		`{"i": 3.5}`: "bad_type i", `{"i": "3.5"}`: "bad_type i", `{"i": true}`: "bad_type i", `{"i": null}`: "bad_type i", `{"i": "007"}`: "bad_type i", `{"i": "1_0"}`: "bad_type i", `{"i": ""}`: `{}`,
		`{"n": "2.50"}`: `{"n": 2.50}`, `{"n": 3}`: `{"n": 3}`, `{"n": "x"}`: "bad_type n", `{"n": "NaN"}`: "bad_type n",
		`{"b": "true"}`: `{"b": true}`, `{"b": "False"}`: `{"b": false}`, `{"b": "yes"}`: "bad_type b", `{"b": 1}`: "bad_type b", `{"b": "1"}`: "bad_type b",
		`{"a": "[1, \"2\"]"}`: `{"a": [1,2]}`, `{"a": ["1", 2.0]}`: `{"a": [1,2]}`, `{"a": [1, 2.5]}`: "bad_type a", `{"a": "1"}`: "bad_type a", `{"a": 1}`: "bad_type a", `{"a": null}`: `{}`, `{"a": "['1', 2]"}`: `{"a": [1,2]}`, `{"a": [ 1 , 2 ]}`: `{"a": [ 1 , 2 ]}`,
		`{"o": "{\"k\": 1}"}`: `{"o": {"k": 1}}`, `{"o": {"k": "1", "z": 2}}`: `{"o": {"k": 1, "z": 2}}`, `{"o": {}}`: "missing_param o.k", `{"o": {"k": "x"}}`: "bad_type o.k", `{"o": []}`: "bad_type o",
		`{"s": "{}"}`: `{"s": "{}"}`, `{"s": 5}`: "bad_type s", `{"s": null}`: "bad_type s", `{"s": ""}`: `{"s": ""}`, `{"s": ["a"]}`: "bad_type s",
		`{"sn": null}`: `{"sn": null}`, `{"sn": "null"}`: `{"sn": "null"}`, `{"in": null}`: `{"in": null}`, `{"in": "8"}`: `{"in": 8}`, `{"in": "None"}`: "bad_type in", `{"nn": null}`: `{"nn": null}`, `{"nn": "4"}`: `{"nn": 4}`,
		`{"si": 4}`: `{"si": 4}`, `{"si": "4"}`: `{"si": "4"}`, `{"si": true}`: "bad_type si",
		`{"e": " x\n"}`: `{"e": "x"}`, `{"e": "X"}`: "bad_value e", `{"e": 1}`: "bad_type e", `{"en": "1"}`: `{"en": 1}`, `{"en": 1.0}`: `{"en": 1.0}`, `{"en": 3}`: "bad_value en", `{"c": "k"}`: `{"c": "k"}`, `{"c": "l"}`: "bad_value c",
		`{"r": "6"}`: `{"r": 6}`, `{"r": "x"}`: "bad_type r", `{"lost": [1]}`: `{"lost": [1]}`, `{"any": [1, null]}`: `{"any": [1, null]}`, `{"all": "5"}`: `{"all": 5}`, `{"t": ["a", "1", 2]}`: `{"t": ["a",1,2]}`, `{"t": [1]}`: "bad_type t",
		`{"other": 1}`: `{"other": 1}`, `{"path": "a\u0000b"}`: "bad_value path", `{"s": "a\u0000b"}`: `{"s": "a\u0000b"}`, `{"s": "\ud83d"}`: "bad_value s", `{"s": "\\ud83d"}`: `{"s": "\\ud83d"}`, `{"any": {"k": "\ud83d\ude80 \udc00"}}`: "bad_value any",
	} {
		require.Equal(t, want, read(in, false), in)
	}
	for in, want := range map[string]string{
		"i=3": `{"i":3}`, "i= 3 ": `{"i":3}`, "i=3.0": `{"i":3}`, "i=three": "bad_type i", "i=": `{}`, "i=None": "bad_type i", "i=\"3\"": `{"i":3}`,
		"b=True": `{"b":true}`, "b=FALSE": `{"b":false}`, "b=no": "bad_type b", "a=[1,\n 2]": "{\"a\":[1,\n 2]}", "a=[1, 2,]": `{"a":[1, 2]}`, "a=['1', 2]": `{"a":[1,2]}`, "a=(1, 2)": "bad_type a",
		"o={'k': 1, 'f': True, 'g': None, 'h': \"it's\"}": `{"o":{"k":1,"f":true,"g":null,"h":"it's"}}`, "o={'k'": "bad_type o",
		"s=null": `{"s":"null"}`, "s=5": `{"s":"5"}`, "s={\"a\": 1}": `{"s":"{\"a\": 1}"}`, "s=\"q\"": `{"s":"\"q\""}`, "s=&lt;": `{"s":"&lt;"}`,
		"sn=null": `{"sn":null}`, "sn=None": `{"sn":null}`, "sn=nullable": `{"sn":"nullable"}`, "in=null": `{"in":null}`, "in=8": `{"in":8}`, "si=8": `{"si":"8"}`, "any=8": `{"any":"8"}`, "other=8": `{"other":"8"}`,
		"e=x": `{"e":"x"}`, "e= y z ": `{"e":"y z"}`, "e=z": "bad_value e", "en=2": `{"en":2}`, "r=6": `{"r":6}`, "nn=None": `{"nn":null}`,
	} {
		key, value, _ := strings.Cut(in, "=")
		require.Equal(t, want, read(fmt.Sprintf("<tool_call>\n<function=f>\n<parameter=%s>\n%s\n</parameter>\n</function>\n</tool_call>", key, value), true), in)
	}
}

// A schema whose alternatives unfold without end does not make a deep value expensive.
func TestDeepAlternatives(t *testing.T) {
	t.Parallel()
	tools := must(model.ParseTools([]byte(`[{"type":"function","function":{"name":"bash","parameters":{"type":"object","properties":{
		"v":{"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#/properties/v"}},{"type":"array","items":{"$ref":"#/properties/v"}}]}}}}}]`)))
	arguments := `{"v": ` + strings.Repeat("[", 60) + `"x"` + strings.Repeat("]", 60) + `}`
	reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{Tools: tools})
	require.NoError(t, reader.Message(message("", "", &arguments)))
	res, err := reader.Finish("tool_calls", true) // without a bound it would not come back
	require.NoError(t, err)
	require.Len(t, res.ToolCalls, 1)
}

// Arguments are mended when nothing is lost, and refused when they have two readings.
func TestArguments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"```json {\"command\": \"ls\"}```":                "ok json_fence",
		"```ls```":                                        "bad_json",
		"```{\"command\": \"ls\"}":                        "bad_json",
		"{\"command\": \"ls\"}}]":                         "ok extra_close",
		"```json\n{\"command\": \"ls\"}\n```":             "ok json_fence",
		"```\n{\"command\": \"ls\",}\n```":                "ok json_fence trailing_comma",
		"\ufeff {\"command\": \"ls\"}\n":                  "ok byte_order_mark",
		"{\"command\": \"l\x01s\"}":                       "ok control_chars",
		`"{\"command\": \"ls\",}"`:                        "ok args_double_encoded trailing_comma",
		`{"command": "ls"}{"command": "ls"}`:              "ok args_repeated",
		`{"command": "ls"} {"command": "pwd"}`:            "bad_json",
		`"\"{\\\"command\\\": \\\"ls\\\"}\""`:             "args_not_object",
		`"ls"`:                                            "args_not_object",
		`[{"command": "ls"}]`:                             "args_not_object",
		`{"command": "ls" "x"}`:                           "bad_json",
		`{"command": "grep \. x"}`:                        "bad_json",
		`{"command": True}`:                               "bad_json",
		`{command: "ls"}`:                                 "bad_json",
		`{"command": "ls",, "x": 1}`:                      "bad_json",
		`{"command": ["ls"}`:                              "bad_json",
		`{"command": "ls" // list` + "\n}":                "bad_json",
		`{"command": "ls", "x": tr`:                       "incomplete_args",
		`{"command": "\u00`:                               "incomplete_args",
		`{"command": "ls"`:                                "incomplete_args",
		`{`:                                               "incomplete_args",
		`null`:                                            "missing_param",
		`{"command": "ls", "command": "pwd"}`:             "ok",
		strings.Repeat(`{"command":`, 20_000) + `"ls"`:    "bad_json",
		`{"command": ` + strings.Repeat("[", 9000) + `"}`: "incomplete_args",
	} {
		reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{Tools: fuzzTools})
		require.NoError(t, reader.Message(message("", "", &in)))
		res, err := reader.Finish("tool_calls", true)
		require.NoError(t, err)
		got := "ok"
		for _, r := range res.Repairs {
			got += " " + r.Kind
		}
		if err := res.ToolCalls[0].Err; err != nil {
			got = string(qwen.KindOf(err))
			require.Less(t, len(err.Error()), 500)
		}
		require.Equal(t, want, got, "%.100s", in)
	}
}

// Names are compared as they are, apart from the blanks around them.
func TestToolsOfTheRequest(t *testing.T) {
	t.Parallel()
	req := &model.Request{Extra: map[string]json.RawMessage{"tools": fuzzTools.JSON()}}
	reader := qwen.NewDialect(qwen.Options{}).NewReader(req)
	require.NoError(t, reader.Message(message(xmlCall("ls"), "", nil)))
	res, err := reader.Finish("stop", true)
	require.NoError(t, err)
	require.Len(t, res.ToolCalls, 1, "tools in Extra count as well")
	reader = qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{})
	arguments := `{"command":"ls"}`
	require.NoError(t, reader.Message(message("", "", &arguments)))
	res, err = reader.Finish("tool_calls", true)
	require.NoError(t, err)
	require.ErrorIs(t, res.ToolCalls[0].Err, qwen.KindUnknownTool, "no tools were offered")
}

// In an answer that was cut at the token limit the last call is refused even when it looks
// whole: servers close what was cut. Calls before it are sound.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, content := range []string{xmlCall("ls") + xmlCall("pwd"), "<think>" + xmlCall("ls") + xmlCall("pwd"), xmlCall("ls") + xmlCall("pwd") + "and then"} {
		reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{Tools: fuzzTools})
		require.NoError(t, reader.Message(message(content, "", nil)))
		res, err := reader.Finish("length", true)
		require.NoError(t, err)
		require.Equal(t, model.FinishLength, res.Finish)
		require.Len(t, res.ToolCalls, 2)
		require.NoError(t, res.ToolCalls[0].Err)
		require.ErrorIs(t, res.ToolCalls[1].Err, qwen.KindTruncated)
		require.Contains(t, string(res.Message.JSON()), `{\"command\":\"pwd\"}`)
	}
}

// An attempt that the server gave up on fails, and may be tried again.
func TestGaveUp(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"abort", "error"} {
		reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{})
		require.NoError(t, reader.Message(message("par", "", nil)))
		_, err := reader.Finish(reason, true)
		require.ErrorIs(t, err, model.KindServer)
		require.Equal(t, qwen.KindStreamError, qwen.KindOf(err))
	}
}

// The same answer to the same turn gets the same IDs, and another turn others.
func TestIDs(t *testing.T) {
	t.Parallel()
	read := func(turns int) string {
		history := model.NewTranscript()
		for range turns {
			history.Append(model.User("x"))
		}
		reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{Tools: fuzzTools, Messages: history.Snapshot()})
		require.NoError(t, reader.Message(message(xmlCall("ls")+xmlCall("ls"), "", nil)))
		res, err := reader.Finish("stop", true)
		require.NoError(t, err)
		require.NotEqual(t, res.ToolCalls[0].ID, res.ToolCalls[1].ID)
		return res.ToolCalls[0].ID
	}
	first, again := read(1), read(1)
	require.Equal(t, first, again)
	require.NotEqual(t, read(1), read(3))
}
