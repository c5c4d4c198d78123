package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/homing-go/homing/model"
)

// trajectoryFormat is the name of the format, and likeVersion the version of the agent whose
// format it is.
const (
	trajectoryFormat = "mini-swe-agent-1.1"
	likeVersion      = "2.4.6+homing"
)

// WriteTrajectory writes the steps of a journal as a trajectory file of mini-swe-agent:
// JSON, whose messages have what the agent knows of them in a member "extra". The names and
// the value of the session are in info.config.model. The endpoint's key is nowhere: this
// package never sees it. A trajectory that has not ended has no exit status.
func WriteTrajectory(w io.Writer, steps []Step) error {
	if len(steps) == 0 || steps[0].Start == nil {
		return &JournalError{Err: errNotAJournal}
	}
	e := &export{start: steps[0].Start, info: map[string]any{}}
	for _, text := range e.start.Messages {
		e.message(text, map[string]any{"timestamp": seconds(steps[0].Time)})
	}
	for i := range steps[1:] {
		e.step(&steps[i+1])
	}
	if e.err != nil {
		return &JournalError{Err: e.err}
	}
	var compact, indented bytes.Buffer
	encoder := json.NewEncoder(&compact)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(struct {
		Info     map[string]any    `json:"info"`
		Messages []json.RawMessage `json:"messages"`
		Format   string            `json:"trajectory_format"`
		ID       string            `json:"instance_id"`
	}{e.information(steps[len(steps)-1].Elapsed), e.messages, trajectoryFormat, e.start.InstanceID})
	if err == nil {
		err = json.Indent(&indented, compact.Bytes(), "", "  ")
	}
	if err == nil {
		_, err = w.Write(indented.Bytes())
	}
	return err
}

// An export is a trajectory on its way into a file.
type export struct {
	start    *Start
	messages []json.RawMessage
	info     map[string]any
	calls    int
	cost     float64
	usage    model.Usage
	err      error
}

// message adds a message, its own bytes in front and the extra member behind.
func (e *export) message(text string, extra map[string]any) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(extra); err != nil {
		e.err = err
		return
	}
	own := bytes.TrimRight([]byte(text), " \t\r\n")
	if len(own) < 2 || own[len(own)-1] != '}' {
		e.err = fmt.Errorf("a message of %d bytes is no JSON object", len(text))
		return
	}
	e.messages = append(e.messages, fmt.Appendf(nil, `%s,"extra":%s}`, own[:len(own)-1], bytes.TrimSpace(b.Bytes())))
}

func (e *export) step(s *Step) {
	switch {
	case s.Answer != nil:
		e.answer(s.Answer, s.Time)
	case s.Result != nil:
		r := s.Result
		e.message(r.Message, map[string]any{
			"raw_output": validText(r.Output), "returncode": r.ExitCode, "timestamp": seconds(s.Time), "exception_info": r.Note,
		})
	case s.Exit != nil:
		submission, content := validText(s.Exit.Submission), string(s.Exit.Status)
		if s.Exit.Status == Submitted {
			content = submission
		}
		text, _ := json.Marshal(map[string]string{"role": "exit", "content": content})
		e.message(string(text), map[string]any{"exit_status": s.Exit.Status, "submission": submission, "timestamp": seconds(s.Time)})
		e.info["exit_status"], e.info["submission"] = s.Exit.Status, submission
		if len(s.Exit.Unsubmitted) > 0 {
			e.info["unsubmitted_patch"] = validText(s.Exit.Unsubmitted)
		}
		if s.Exit.Status.Infrastructure() {
			e.info["exception_str"], e.info["traceback"] = s.Exit.Reason, ""
		}
	}
}

func (e *export) answer(a *Answer, at time.Time) {
	e.calls++
	e.cost += a.Cost
	e.usage.PromptTokens += a.Usage.PromptTokens
	e.usage.CompletionTokens += a.Usage.CompletionTokens
	e.usage.CachedTokens += a.Usage.CachedTokens
	extra := map[string]any{"cost": a.Cost, "timestamp": seconds(at)}
	if a.Message != "" {
		extra["response"] = map[string]any{
			"choices": []any{map[string]any{"index": 0, "finish_reason": a.Finish, "message": json.RawMessage(a.Message)}},
			"usage":   map[string]int{"prompt_tokens": a.Usage.PromptTokens, "completion_tokens": a.Usage.CompletionTokens, "cached_tokens": a.Usage.CachedTokens},
		}
	}
	if a.Refused != "" {
		extra["interrupt_type"], extra["error"] = "FormatError", a.Fault
		e.message(a.Refused, extra)
		return
	}
	actions := make([]map[string]any, len(a.Calls))
	for i, c := range a.Calls {
		actions[i] = map[string]any{}
		if c.ID != "" {
			actions[i]["tool_call_id"] = c.ID
		}
		var command struct{ Command *string }
		if c.Name == toolBash && json.Unmarshal([]byte(c.Arguments), &command) == nil && command.Command != nil {
			actions[i]["command"] = *command.Command
			continue
		}
		actions[i]["tool"], actions[i]["arguments"] = c.Name, c.Arguments
	}
	extra["actions"] = actions
	e.message(a.Message, extra)
}

// information is the member info.
func (e *export) information(elapsed time.Duration) map[string]any {
	s := e.start
	kwargs := params(s.Params)
	for name, value := range s.Extra {
		kwargs[name] = value
	}
	headers := map[string]string{}
	for _, name := range s.Headers {
		headers[name] = string(s.Session.ID)
	}
	if len(headers) > 0 {
		kwargs["extra_headers"] = headers
	}
	e.info["model_stats"] = map[string]any{"instance_cost": e.cost, "api_calls": e.calls}
	e.info["mini_version"] = likeVersion
	e.info["config"] = map[string]any{
		"agent": map[string]any{
			"step_limit": s.Limits.Steps, "cost_limit": s.Limits.Cost, "wall_time_limit_seconds": int(s.Limits.Wall.Seconds()),
			"token_limit": s.Limits.Tokens, "max_consecutive_format_errors": s.Limits.FormatErrors, "template": s.Template, "template_sha256": s.Hash,
		},
		"agent_type": "homing.swebench.agent",
		"model":      map[string]any{"model_name": s.Model, "model_kwargs": kwargs, "routing_headers": append([]string{}, s.Headers...)},
		"model_type": "homing.model.Client",
		"environment": map[string]any{
			"cwd": s.Dir, "timeout": int(s.Limits.Command.Seconds()), "base_commit": s.Base, "task_base_commit": s.BaseCommit,
		},
		"environment_type": "homing.swebench.sandbox",
	}
	e.info["usage"] = map[string]any{
		"prompt_tokens": e.usage.PromptTokens, "completion_tokens": e.usage.CompletionTokens, "cached_tokens": e.usage.CachedTokens,
	}
	e.info["cost_known"] = s.Priced
	e.info["elapsed_seconds"] = elapsed.Seconds()
	return e.info
}

// params are the sampling parameters under the names that they have in a request.
func params(p model.Params) map[string]any {
	out := map[string]any{}
	set := func(name string, given bool, value any) {
		if given {
			out[name] = value
		}
	}
	set("temperature", p.Temperature != nil, p.Temperature)
	set("top_p", p.TopP != nil, p.TopP)
	set("top_k", p.TopK != nil, p.TopK)
	set("min_p", p.MinP != nil, p.MinP)
	set("seed", p.Seed != nil, p.Seed)
	set("max_tokens", p.MaxTokens != nil, p.MaxTokens)
	set("presence_penalty", p.PresencePenalty != nil, p.PresencePenalty)
	set("frequency_penalty", p.FrequencyPenalty != nil, p.FrequencyPenalty)
	set("repetition_penalty", p.RepetitionPenalty != nil, p.RepetitionPenalty)
	set("stop", p.Stop != nil, p.Stop)
	return out
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
