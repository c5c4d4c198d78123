package routingtest

import (
	"net/http"
	"strconv"
	"time"

	"github.com/homing-go/homing/internal/rawjson"
)

// chat answers a chat completion.
func (b *Backend) chat(w http.ResponseWriter, r *Request) {
	if err := r.parse(); err != nil {
		b.fail(w, r.HTTP, err)
		return
	}
	or(&r.Model, b.cfg.Models[0])
	ctx := r.HTTP.Context()

	fault := b.cfg.Faults.next(r)
	if fault.Kind != FaultNone || fault.Delay > 0 || fault.Header != nil {
		b.meter.fault()
	}
	if !pause(ctx, fault.Delay) {
		abort(r.HTTP)
		return
	}
	if fault.response(w, r) {
		return
	}

	c := completion{
		id: b.nextID(), created: time.Now().Unix(), model: r.Model,
		chunk: b.cfg.ChunkBytes, perToken: b.cfg.DecodePerToken,
	}
	c.usage.prompt, c.usage.cached = b.prefill(r)
	message, err := newWireMessage(b.cfg.Reply(r), b.cfg.ReasoningField)
	if err != nil && r.Stream {
		refuse(w, &requestError{
			status:  http.StatusInternalServerError,
			message: "the reply's message cannot be streamed: " + err.Error() + "; give an assistant message in JSON",
		})
		return
	}
	c.message = message
	c.usage.completion = message.tokens()
	b.meter.completion(c.usage)

	if !pause(ctx, time.Duration(c.usage.prompt-c.usage.cached)*b.cfg.PrefillPerToken) {
		abort(r.HTTP)
		return
	}
	if r.Stream {
		c.stream(w, r, fault)
	} else {
		c.plain(w, r, fault)
	}
}

// prefill runs the prompt through the cache.
func (b *Backend) prefill(r *Request) (prompt, cached int) {
	parts := r.prompt()
	known := b.cache.admit(r.Model, parts)
	for i, p := range parts {
		n := tokens(len(p))
		prompt += n
		if i < known {
			cached += n
		}
	}
	return prompt, cached
}

// A completion is one answer on its way out.
type completion struct {
	id       string
	created  int64
	model    string
	message  wireMessage
	usage    usage
	chunk    int
	perToken time.Duration
}

type usage struct{ prompt, cached, completion int }

func (c *completion) plain(w http.ResponseWriter, r *Request, fault Fault) {
	if !pause(r.HTTP.Context(), time.Duration(c.usage.completion)*c.perToken) {
		abort(r.HTTP)
		return
	}
	b := c.appendHead(nil, "chat.completion")
	b = append(b, `[{"index":0,"message":`...)
	b = c.message.appendPlain(b)
	b = append(b, `,"logprobs":null,"finish_reason":`...)
	b = rawjson.AppendQuoted(b, c.message.finish)
	b = append(b, `}],`...)
	b = c.usage.append(b)
	b = append(b, '}')

	w.Header().Set("Content-Type", "application/json")
	size := len(b)
	if fault.Kind == FaultCut || fault.Kind == FaultEnd {
		b = b[:size/2]
	}
	if fault.Kind == FaultEnd {
		size = len(b)
	}
	w.Header().Set("Content-Length", strconv.Itoa(size))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(b) // a failed write means that the client has gone
	if fault.Kind == FaultCut {
		_ = http.NewResponseController(w).Flush()
		abort(r.HTTP)
	}
}

func (c *completion) stream(w http.ResponseWriter, r *Request, fault Fault) {
	limit := fault.events()
	head := c.appendHead(nil, "chat.completion.chunk")
	out := startEvents(w)
	sent := 0
	for choice, n := range c.message.deltas(c.chunk) {
		if sent >= limit {
			break
		}
		if !pause(r.HTTP.Context(), time.Duration(n)*c.perToken) {
			abort(r.HTTP)
			return
		}
		if out.send(head, []byte{'['}, choice, []byte("]}")) != nil {
			return // the client has gone
		}
		sent++
	}
	if r.IncludeUsage && sent < limit {
		_ = out.send(head, []byte("[],"), c.usage.append(nil), []byte{'}'})
	}
	if fault.Kind == FaultError {
		_ = out.send(fault.body(http.StatusOK))
	}
	if fault.Kind == FaultCut {
		abort(r.HTTP)
	} else if fault.Kind != FaultEnd {
		_ = out.send([]byte("[DONE]"))
	}
}

// appendHead writes what chunks and plain responses have in common, up to the
// value of choices.
func (c *completion) appendHead(b []byte, object string) []byte {
	b = append(b, `{"id":`...)
	b = rawjson.AppendQuoted(b, c.id)
	b = append(b, `,"object":"`...)
	b = append(b, object...)
	b = append(b, `","created":`...)
	b = strconv.AppendInt(b, c.created, 10)
	b = append(b, `,"model":`...)
	b = rawjson.AppendQuoted(b, c.model)
	return append(b, `,"choices":`...)
}

func (u usage) append(b []byte) []byte {
	b = append(b, `"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(u.prompt), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(u.completion), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(u.prompt+u.completion), 10)
	b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
	b = strconv.AppendInt(b, int64(u.cached), 10)
	return append(b, "}}"...)
}
