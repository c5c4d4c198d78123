package model

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/homing-go/homing/internal/rawjson"
)

// envelope is what a plain answer and a chunk of a stream have in common. Its slices
// belong to the text.
type envelope struct {
	failure []byte // the member error
	usage   []byte
	message []byte // of the choice with index 0: message or delta
	at      int    // the offset of message
	finish  []byte
	choices bool // there was a choice with index 0
}

// readEnvelope takes the members that count. Of several choices only the one with
// index 0 is read; the others were never asked for.
func readEnvelope(text []byte) (envelope, error) {
	var e envelope
	old := false // the envelope of older vLLM, where the whole answer is the error
	o := rawjson.Members(text)
	for o.Next() {
		switch string(o.Key) {
		case "choices":
			e.message, e.at, e.finish, e.choices = nil, 0, nil, false
			if rawjson.Kind(o.Value) == '[' {
				e.readChoices(o.Value, o.To-len(o.Value))
			}
		case "usage":
			e.usage = notNull(o.Value)
		case "error":
			e.failure = notNull(o.Value)
		case "object":
			old = string(o.Value) == `"error"`
		}
	}
	if old {
		e.failure = text
	}
	return e, o.Err
}

// readChoices reads the array that is at an offset of the text.
func (e *envelope) readChoices(array []byte, offset int) {
	choices := rawjson.Elements(array)
	for choices.Next() {
		if rawjson.Kind(choices.Value) != '{' {
			continue
		}
		var message, finish []byte
		at, index := 0, true
		c := rawjson.Members(choices.Value)
		for c.Next() {
			switch string(c.Key) {
			case "index":
				index = string(c.Value) == "0" || string(c.Value) == "null"
			case "message", "delta":
				if v := notNull(c.Value); v != nil {
					message, at = v, offset+choices.To-len(choices.Value)+c.To-len(v)
				}
			case "finish_reason":
				finish = notNull(c.Value)
			}
		}
		if index {
			e.message, e.at, e.finish, e.choices = message, at, finish, true
		}
	}
}

// chunkForm is what the chunks of one stream have in common around their deltas. Servers
// repeat it byte for byte, so that most chunks need not be read but compared.
type chunkForm struct {
	before, after []byte
}

// learn takes the form of a chunk that carries a delta and nothing else.
func (f *chunkForm) learn(text []byte, e *envelope) {
	f.before, f.after = f.before[:0], f.after[:0]
	if e.message != nil && e.finish == nil && e.usage == nil && e.failure == nil {
		f.before = append(f.before, text[:e.at]...)
		f.after = append(f.after, text[e.at+len(e.message):]...)
	}
}

// delta returns what stands in the place of the delta in a chunk that has the form, else
// nil. If that is an object, all else that the text says is as it was.
func (f *chunkForm) delta(text []byte) []byte {
	if len(f.before) == 0 || !bytes.HasPrefix(text, f.before) || !bytes.HasSuffix(text, f.after) {
		return nil
	}
	from, to := len(f.before), len(text)-len(f.after)
	if from >= to || text[from] != '{' {
		return nil
	}
	return text[from:to:to]
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
	var usage Usage
	var hits []byte
	for u := rawjson.Members(text); u.Next(); {
		switch string(u.Key) {
		case "prompt_tokens":
			usage.PromptTokens = count(u.Value)
		case "completion_tokens":
			usage.CompletionTokens = count(u.Value)
		case "prompt_cache_hit_tokens":
			hits = notNull(u.Value)
		case "prompt_tokens_details":
			if cached := notNull(rawjson.Get(u.Value, "cached_tokens")); cached != nil {
				usage.CachedTokens, usage.HasCached = count(cached), true
			}
		case "completion_tokens_details":
			usage.ReasoningTokens = count(rawjson.Get(u.Value, "reasoning_tokens"))
		}
	}
	if hits != nil && !usage.HasCached {
		usage.CachedTokens, usage.HasCached = count(hits), true
	}
	return usage
}

// count makes a number of tokens of whatever a server wrote.
func count(value []byte) int {
	const most = 1 << 40
	v, err := strconv.ParseFloat(string(value), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || !(v > 0) {
		return 0
	}
	return int(min(v, most))
}
