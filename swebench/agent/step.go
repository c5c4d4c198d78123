package agent

import (
	"encoding/json"
	"time"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
)

// A Step is one entry of a journal: the start, an answer of the model, the result of one of
// its calls, or the exit. One of the four is set. An answer is written before any of its
// calls is carried out, and a result before the next call is, so that what was begun and
// not ended can be told.
type Step struct {
	Time time.Time `json:"time"`
	// Elapsed is the time of the trajectory so far, over all its executions.
	Elapsed time.Duration `json:"elapsed_ns"`
	Start   *Start        `json:"start,omitempty"`
	Answer  *Answer       `json:"answer,omitempty"`
	Result  *CallResult   `json:"result,omitempty"`
	Exit    *Exit         `json:"exit,omitempty"`
}

// Start is what a trajectory begins with. Messages are kept as texts, so that no byte of
// them changes.
type Start struct {
	Version    int                        `json:"version"`
	InstanceID string                     `json:"instance_id"`
	Session    routing.Session            `json:"session"`
	Model      string                     `json:"model"`
	Headers    []string                   `json:"routing_headers"`
	Params     model.Params               `json:"params"`
	Extra      map[string]json.RawMessage `json:"extra,omitempty"`
	Template   string                     `json:"template"`
	Hash       string                     `json:"template_hash"`
	Limits     Limits                     `json:"limits"`
	Dir        string                     `json:"dir"`
	// Base is the commit that the patch is compared with, BaseCommit what the task said.
	Base       string    `json:"base"`
	BaseCommit string    `json:"base_commit,omitempty"`
	Machine    [4]string `json:"machine"`
	// Priced tells that answers have a cost; else the cost is 0 because nobody knows it.
	Priced   bool     `json:"priced"`
	Messages []string `json:"messages"`
}

// Answer is one answer of the model.
type Answer struct {
	// Message is the assistant message as it goes into the history.
	Message string `json:"message"`
	// Refused is the message that the model got in the place of results, when the answer
	// could not be carried out; then Message is not in the history. Fault says why.
	Refused string      `json:"refused,omitempty"`
	Fault   string      `json:"fault,omitempty"`
	Calls   []Call      `json:"calls,omitempty"`
	Finish  string      `json:"finish"`
	Usage   model.Usage `json:"usage"`
	Cost    float64     `json:"cost"`
	// Seconds is how long the answer took, all attempts and waits included.
	Seconds  float64 `json:"seconds"`
	Attempts int     `json:"attempts"`
}

// Call is one tool call.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// CallResult is what one call gave.
type CallResult struct {
	// Call is its index in the answer.
	Call int `json:"call"`
	// Message is what the model got.
	Message  string `json:"message"`
	Output   []byte `json:"output,omitempty"`
	ExitCode int    `json:"exit_code"`
	Note     string `json:"note,omitempty"`
	// NotRun tells that the call was not carried out.
	NotRun bool `json:"not_run,omitempty"`
	// Submitted tells that the call handed the work in; Patch is the patch.
	Submitted bool   `json:"submitted,omitempty"`
	Patch     []byte `json:"patch,omitempty"`
}

// Exit is how the trajectory ended.
type Exit struct {
	Status      ExitStatus `json:"status"`
	Reason      string     `json:"reason,omitempty"`
	Submission  []byte     `json:"submission,omitempty"`
	Unsubmitted []byte     `json:"unsubmitted,omitempty"`
}

const journalVersion = 1

// response returns what a kept answer was, as far as its calls need it.
func (a *Answer) response() *model.Response {
	res := &model.Response{Finish: model.Finish(a.Finish), Usage: a.Usage, Text: rawjson.Text(rawjson.Get([]byte(a.Message), "content"))}
	for _, c := range a.Calls {
		res.ToolCalls = append(res.ToolCalls, model.ToolCall{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(c.Arguments)})
	}
	return res
}

// changesNothing reports whether an action that was interrupted may be carried out again.
func changesNothing(a qwen.Action) bool {
	switch a.(type) {
	case qwen.View, qwen.Submit:
		return true
	}
	return false
}
