package qwen_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

type answerExpect struct {
	ToolCalls []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		ID        string          `json:"id"`
	} `json:"tool_calls"`
	BadCalls []struct {
		Index int    `json:"index"`
		Name  string `json:"name"`
		Error string `json:"error"`
		Param string `json:"param"`
		ID    string `json:"id"`
	} `json:"bad_calls"`
	Error     nullable[string] `json:"error"`
	Content   nullable[string] `json:"content"`
	Reasoning nullable[string] `json:"reasoning"`
	Finish    string           `json:"finish"`
	Repairs   *[]string        `json:"repairs"`
}

// An outcome is an answer, or a failed attempt and what was shown of it.
type outcome struct {
	res   *model.Response
	err   error
	shown string
}

func optionsFor(t *testing.T, thinking string) qwen.Options {
	t.Helper()
	switch thinking {
	case "":
		return qwen.Options{}
	case "prompt_open":
		return qwen.Options{PromptOpensThinking: true}
	case "off":
		return qwen.Options{EnableThinking: new(bool)}
	}
	require.Fail(t, "unknown thinking mode", thinking)
	return qwen.Options{}
}

func runMessageCase(t *testing.T, c oneCase, tools map[string]*model.Tools) {
	var input struct {
		Message      json.RawMessage `json:"message"`
		FinishReason string          `json:"finish_reason"`
		Tools        string          `json:"tools"`
		Thinking     string          `json:"thinking"`
	}
	strict(t, c.Input, &input)
	require.Contains(t, tools, input.Tools)
	req := &model.Request{Tools: tools[input.Tools], Messages: userTurn().Snapshot()}
	reader := qwen.NewDialect(optionsFor(t, input.Thinking)).NewReader(req)
	require.NoError(t, reader.Message(input.Message))
	res, err := reader.Finish(input.FinishReason, true)
	checkAnswer(t, c, req.Tools, outcome{res: res, err: err})

	reason := must(json.Marshal(input.FinishReason))
	body := `{"choices":[{"index":0,"message":` + string(input.Message) + `,"finish_reason":` + string(reason) + `}]}`
	w := newWire(t, qwen.Config{Options: optionsFor(t, input.Thinking)}, 200, "application/json", body)
	sent, err := w.client.Generate(session(t), req)
	if err != nil {
		require.Equal(t, qwen.KindStreamError, qwen.KindOf(err), "%v", err)
		return
	}
	require.Equal(t, show(res), show(sent), "the client gives what the reader gives")
}

func userTurn() *model.Transcript { return model.NewTranscript(model.User("Fix the bug.")) }

func runStreamCase(t *testing.T, c oneCase, tools map[string]*model.Tools) {
	var input struct {
		SSE      []json.RawMessage `json:"sse"`
		Tools    string            `json:"tools"`
		Thinking string            `json:"thinking"`
	}
	strict(t, c.Input, &input)
	require.Contains(t, tools, input.Tools)
	req := &model.Request{Tools: tools[input.Tools], Messages: userTurn().Snapshot()}
	checkAnswer(t, c, req.Tools, readChunks(t, qwen.NewDialect(optionsFor(t, input.Thinking)), req, input.SSE))

	var body strings.Builder
	for _, raw := range input.SSE {
		if string(raw) == `"[DONE]"` {
			raw = json.RawMessage("[DONE]")
		}
		body.WriteString("data: " + string(raw) + "\n\n")
	}
	if !strings.Contains(body.String(), `"choices"`) {
		return // to the client a stream without a choice is no answer, and it tries again
	}
	w := newWire(t, qwen.Config{Options: optionsFor(t, input.Thinking)}, 200, "text/event-stream", body.String())
	checkAnswer(t, c, req.Tools, w.stream(t, req))
}

// readChunks hands the deltas of a stream to a reader, as the client does.
func readChunks(t *testing.T, dialect model.Dialect, req *model.Request, chunks []json.RawMessage) (o outcome) {
	t.Helper()
	reader := dialect.NewReader(req)
	var shown strings.Builder
	reason, ended, done := "", false, false
	for _, raw := range chunks {
		if string(raw) == `"[DONE]"` {
			done = true
			break
		}
		var chunk struct {
			Error   json.RawMessage
			Choices []struct {
				Index        int
				Delta        json.RawMessage
				FinishReason *string `json:"finish_reason"`
			}
		}
		require.NoError(t, json.Unmarshal(raw, &chunk))
		if chunk.Error != nil {
			return outcome{err: &model.Error{Kind: model.KindServer}, shown: shown.String()}
		}
		for _, choice := range chunk.Choices {
			require.Zero(t, choice.Index)
			if choice.Delta != nil {
				require.NoError(t, reader.Delta(choice.Delta, func(e model.Event) bool {
					if e.Kind == model.EventText {
						shown.WriteString(e.Text)
					}
					return true
				}))
			}
			if choice.FinishReason != nil {
				reason, ended = *choice.FinishReason, true
			}
		}
	}
	if !ended && !done {
		return outcome{err: &model.Error{Kind: model.KindTruncated}, shown: shown.String()}
	}
	res, err := reader.Finish(reason, done)
	return outcome{res: res, err: err, shown: shown.String()}
}

// checkAnswer compares what came of an answer with what the case expects.
func checkAnswer(t *testing.T, c oneCase, tools *model.Tools, o outcome) {
	t.Helper()
	var want answerExpect
	strict(t, c.Expect, &want)
	require.True(t, want.Error.present && want.Content.present)
	if o.err != nil {
		require.Equal(t, want.Error.value, string(qwen.KindOf(o.err)))
		require.Empty(t, want.ToolCalls)
		text := o.shown
		if o.res != nil {
			text = o.res.Text
			if want.Finish != "" {
				require.Equal(t, want.Finish, string(o.res.Finish))
			}
		}
		if !want.Content.null {
			require.Equal(t, collapse(want.Content.value), collapse(text))
		}
		return
	}
	require.NotNil(t, o.res)
	kind := ""
	format := qwen.Check(o.res, tools)
	if format != nil {
		kind = string(qwen.KindOf(format))
	}
	require.Equal(t, want.Error.value, kind, "%v", format)
	checkCalls(t, &want, o.res)
	if format != nil {
		checkReport(t, o.res, format)
	}
	if !want.Content.null {
		require.Equal(t, collapse(want.Content.value), collapse(o.res.Text))
	}
	if want.Reasoning.present && !want.Reasoning.null {
		require.Equal(t, collapse(want.Reasoning.value), collapse(o.res.Reasoning))
	}
	if want.Finish != "" {
		require.Equal(t, want.Finish, string(o.res.Finish))
	}
	if want.Repairs != nil {
		checkRepairs(t, *want.Repairs, o.res)
	}
	checkReplayForm(t, o.res)
}

func checkCalls(t *testing.T, want *answerExpect, res *model.Response) {
	t.Helper()
	var sound, bad []int
	ids := map[string]bool{}
	for i, call := range res.ToolCalls {
		require.NotEmpty(t, call.ID)
		require.False(t, ids[call.ID], "two calls have the ID %q", call.ID)
		ids[call.ID] = true
		if call.Err == nil {
			sound = append(sound, i)
		} else {
			bad = append(bad, i)
		}
	}
	require.Len(t, sound, len(want.ToolCalls))
	for n, i := range sound {
		call, w := res.ToolCalls[i], want.ToolCalls[n]
		require.Equal(t, w.Name, call.Name)
		sameJSON(t, w.Arguments, call.Arguments)
		if w.ID != "" && w.ID != "*" {
			require.Equal(t, w.ID, call.ID)
		}
	}
	require.Len(t, bad, len(want.BadCalls))
	for n, i := range bad {
		call, w := res.ToolCalls[i], want.BadCalls[n]
		require.Equal(t, w.Index, i)
		require.Equal(t, w.Name, call.Name)
		var e *qwen.CallError
		require.ErrorAs(t, call.Err, &e)
		require.Equal(t, w.Error, string(e.Kind), "%v", e)
		if w.Param != "" {
			require.Equal(t, w.Param, e.Param)
		}
		if w.ID != "" && w.ID != "*" {
			require.Equal(t, w.ID, call.ID)
		}
	}
}

// checkReport: every call gets one tool message, in call order; without a call there is
// one user message.
func checkReport(t *testing.T, res *model.Response, err error) {
	t.Helper()
	var format *qwen.FormatError
	require.ErrorAs(t, err, &format)
	if len(res.ToolCalls) == 0 {
		require.Len(t, format.Messages, 1)
		require.Equal(t, "user", format.Messages[0].Role())
		return
	}
	require.Len(t, format.Messages, len(res.ToolCalls))
	for i, m := range format.Messages {
		var got struct {
			Role, Content string
			ID            string `json:"tool_call_id"`
		}
		require.NoError(t, json.Unmarshal(m.JSON(), &got))
		require.Equal(t, "tool", got.Role)
		require.Equal(t, res.ToolCalls[i].ID, got.ID)
		require.NotEmpty(t, got.Content)
	}
}

// checkRepairs: what the case says was mended is recorded. Names that this package does
// not use are only a hint, but then something must have been mended.
func checkRepairs(t *testing.T, want []string, res *model.Response) {
	t.Helper()
	have := map[string]bool{}
	for _, r := range res.Repairs {
		require.Less(t, r.Call, len(res.ToolCalls))
		have[r.Kind] = true
	}
	if len(want) == 0 {
		require.Empty(t, res.Repairs)
		return
	}
	require.NotEmpty(t, res.Repairs)
	for _, kind := range want {
		if !knownRepairs[kind] {
			t.Logf("the repair %q has another name here: %v", kind, res.Repairs)
			continue
		}
		require.True(t, have[kind], "%s is not among %v", kind, res.Repairs)
	}
}

var knownRepairs = map[string]bool{
	qwen.RepairEmptyArgs: true, qwen.RepairArgsObject: true, qwen.RepairArgsDoubleEncoded: true, qwen.RepairArgsRepeated: true,
	qwen.RepairControlChars: true, qwen.RepairTrailingComma: true, qwen.RepairExtraClose: true, qwen.RepairMissingCloseBrace: true,
	qwen.RepairFence: true, qwen.RepairByteOrderMark: true, qwen.RepairParamsAlias: true, qwen.RepairBareJSON: true,
	qwen.RepairCallInContent: true, qwen.RepairCallInReasoning: true, qwen.RepairMissingOpener: true,
	qwen.RepairMissingCloseTag: true, qwen.RepairParamDrift: true, qwen.RepairNameQuotes: true, qwen.RepairNameTrim: true,
	qwen.RepairCoerced: true, qwen.RepairIDGenerated: true, qwen.RepairFinishFixed: true, qwen.RepairStrayTags: true,
	qwen.RepairAnswerInReasoning: true, qwen.RepairCallRepeated: true, qwen.RepairFunctionCall: true,
}

// checkReplayForm: the message that goes into the history has the calls structured, with
// arguments that are the text of a JSON object, and thinking under both names.
func checkReplayForm(t *testing.T, res *model.Response) {
	t.Helper()
	var m struct {
		Role             string
		Content          *string
		Reasoning        string
		ReasoningContent string `json:"reasoning_content"`
		ToolCalls        []struct {
			ID, Type string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	strict(t, res.Message.JSON(), &m)
	require.Equal(t, "assistant", m.Role)
	if m.Content == nil { // by option
		require.Empty(t, res.Text)
		require.NotEmpty(t, m.ToolCalls)
	} else {
		require.Equal(t, res.Text, *m.Content)
	}
	require.Equal(t, res.Reasoning, m.Reasoning)
	require.Equal(t, res.Reasoning, m.ReasoningContent)
	require.Len(t, m.ToolCalls, len(res.ToolCalls))
	for i, call := range res.ToolCalls {
		require.Equal(t, call.ID, m.ToolCalls[i].ID)
		require.Equal(t, "function", m.ToolCalls[i].Type)
		require.NotEmpty(t, m.ToolCalls[i].Function.Name)
		var object map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(m.ToolCalls[i].Function.Arguments), &object))
		if call.Err == nil {
			require.Equal(t, string(call.Arguments), m.ToolCalls[i].Function.Arguments)
		}
	}
	require.NotContains(t, string(res.Message.JSON()), `"tool_calls":[]`)
}
