package perf

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/homing-go/homing/internal/rawjson"
	"golang.org/x/crypto/blake2b"
)

// marker is the BLAKE2b digest of two bytes, in hex. With so few bits two conversations may
// share one; the two markers of a trajectory are for caches, not for telling it apart.
func marker(text string) string {
	h, err := blake2b.New(2, nil)
	if err != nil {
		panic(err) // two bytes are a size that it has
	}
	_, _ = h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// salted returns messages with the markers of the instance and of the source around the first
// system message whose content is a text. All other bytes stay.
func salted(messages []json.RawMessage, instance int, source string) ([]json.RawMessage, error) {
	if len(messages) == 0 {
		return nil, errors.New("it has no messages to salt")
	}
	for i, m := range messages {
		if rawjson.Kind(m) != '{' || rawjson.Text(rawjson.Get(m, "role")) != "system" {
			continue
		}
		content := rawjson.Get(m, "content")
		if rawjson.Kind(content) != '"' {
			continue
		}
		text := "[salt: " + marker(strconv.Itoa(instance)) + "]\n\n" + rawjson.Text(content) + "\n\n[salt: " + marker(source) + "]"
		out := slices.Clone(messages)
		out[i] = replace(m, text)
		return out, nil
	}
	return nil, errors.New("it has no system message whose content is a text, to salt")
}

// replace puts text in the place of the content of a message.
func replace(message json.RawMessage, text string) json.RawMessage {
	from, to := 0, 0
	for o := rawjson.Members(message); o.Next(); {
		if string(o.Key) == "content" {
			from, to = o.To-len(o.Value), o.To
		}
	}
	out := append(json.RawMessage{}, message[:from]...)
	return append(rawjson.AppendQuoted(out, text), message[to:]...)
}
