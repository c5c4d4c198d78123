package routingtest

import (
	"iter"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
)

// deltas yields the choices of a stream in order, each as JSON, and how many
// tokens it carries: the role, reasoning, content, each tool call and its
// arguments, and last the finish reason. The slice is valid until the next one.
func (m *wireMessage) deltas(chunk int) iter.Seq2[[]byte, int] {
	return func(yield func([]byte, int) bool) {
		var b []byte
		// emit sends one delta: before + value + after.
		emit := func(before string, v wireValue, after string) bool {
			b = append(b[:0], `{"index":0,"delta":{`...)
			b = append(b, before...)
			if v.other != nil {
				b = append(b, v.other...)
			} else {
				b = rawjson.AppendQuoted(b, v.text)
			}
			b = append(b, after...)
			b = append(b, `},"logprobs":null,"finish_reason":null}`...)
			return yield(b, tokens(v.bytes()))
		}
		pieces := func(before string, v wireValue, after string) bool {
			if v.other != nil {
				return emit(before, v, after)
			}
			for rest := v.text; rest != ""; {
				n := pieceLen(rest, chunk)
				if !emit(before, wireValue{text: rest[:n]}, after) {
					return false
				}
				rest = rest[n:]
			}
			return true
		}
		ok := emit(`"role":"assistant","content":`, wireValue{}, "") &&
			pieces(string(rawjson.AppendQuoted(nil, m.reasoningField))+":", m.reasoning, "") &&
			pieces(`"content":`, m.content, "")
		for i, c := range m.calls {
			call := `"tool_calls":[{"index":` + strconv.Itoa(i)
			head := call + `,"id":` + string(rawjson.AppendQuoted(nil, c.id)) + `,"type":"function","function":{"name":`
			ok = ok && emit(head, wireValue{text: c.name}, `,"arguments":""}}]`) &&
				pieces(call+`,"function":{"arguments":`, c.arguments, "}}]")
		}
		if ok {
			b = append(b[:0], `{"index":0,"delta":{},"logprobs":null,"finish_reason":`...)
			b = rawjson.AppendQuoted(b, m.finish)
			yield(append(b, '}'), 0)
		}
	}
}

// pieceLen returns how many bytes of s, at most n, the next piece takes, but at
// least one whole character.
func pieceLen(s string, n int) int {
	if len(s) <= n {
		return len(s)
	}
	for i := n; i > 0; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	_, size := utf8.DecodeRuneInString(s)
	return size
}

// events writes server-sent events, each flushed as soon as it is whole.
type events struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf []byte
}

// startEvents sends the header.
func startEvents(w http.ResponseWriter) *events {
	e := &events{w: w, rc: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	e.flush()
	return e
}

// send writes an event whose data are the parts in a row.
func (e *events) send(parts ...[]byte) error {
	e.buf = append(e.buf[:0], "data: "...)
	for _, p := range parts {
		e.buf = append(e.buf, p...)
	}
	e.buf = append(e.buf, "\n\n"...)
	_, err := e.w.Write(e.buf)
	e.flush()
	return err
}

// flush ignores writers that cannot: what they hold back arrives at the end.
func (e *events) flush() { _ = e.rc.Flush() }
