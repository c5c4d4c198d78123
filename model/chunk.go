package model

import (
	"encoding/json"

	"github.com/homing-go/homing/internal/rawjson"
)

// envelope is what a plain answer and a chunk of a stream have in common. Its slices
// belong to the text.
type envelope struct {
	failure []byte // the member error
	usage   []byte
	message []byte // of the choice with index 0: message or delta
	finish  []byte
	choices bool // there was a choice with index 0
}

// readEnvelope takes the members that count. Of several choices only the one with
// index 0 is read; the others were never asked for.
func readEnvelope(text []byte) (envelope, error) {
	var e envelope
	o := rawjson.Members(text)
	for o.Next() {
		switch string(o.Key) {
		case "choices":
			if rawjson.Kind(o.Value) == '[' {
				e.readChoices(o.Value)
			}
		case "usage":
			e.usage = notNull(o.Value)
		case "error":
			e.failure = notNull(o.Value)
		case "object": // the envelope of older vLLM: the whole answer is the error
			if string(o.Value) == `"error"` {
				e.failure = text
			}
		}
	}
	return e, o.Err
}

func (e *envelope) readChoices(array []byte) {
	choices := rawjson.Elements(array)
	for choices.Next() {
		if rawjson.Kind(choices.Value) != '{' {
			continue
		}
		var message, finish []byte
		index := true
		c := rawjson.Members(choices.Value)
		for c.Next() {
			switch string(c.Key) {
			case "index":
				index = string(c.Value) == "0" || string(c.Value) == "null"
			case "message", "delta":
				if v := notNull(c.Value); v != nil {
					message = v
				}
			case "finish_reason":
				finish = notNull(c.Value)
			}
		}
		if index {
			e.message, e.finish, e.choices = message, finish, true
		}
	}
}

func notNull(value []byte) []byte {
	if rawjson.Kind(value) == 'n' {
		return nil
	}
	return value
}

// readUsage takes the counts in the spellings of the servers: OpenAI's details,
// DeepSeek's cache hits.
func readUsage(text []byte) Usage {
	var u struct {
		Prompt        float64  `json:"prompt_tokens"`
		Completion    float64  `json:"completion_tokens"`
		CacheHit      *float64 `json:"prompt_cache_hit_tokens"`
		PromptDetails struct {
			Cached *float64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionDetails struct {
			Reasoning float64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if text == nil || json.Unmarshal(text, &u) != nil {
		return Usage{}
	}
	usage := Usage{
		PromptTokens: count(u.Prompt), CompletionTokens: count(u.Completion), ReasoningTokens: count(u.CompletionDetails.Reasoning),
	}
	cached := u.PromptDetails.Cached
	if cached == nil {
		cached = u.CacheHit
	}
	if cached != nil {
		usage.CachedTokens, usage.HasCached = count(*cached), true
	}
	return usage
}

// count makes a number of tokens of whatever a server wrote.
func count(v float64) int {
	const most = 1 << 40
	if !(v > 0) {
		return 0
	}
	return int(min(v, most))
}
