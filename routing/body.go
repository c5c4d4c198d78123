package routing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

type bodyKey struct{}

// bodyMark says whose members are in the body already. A child's session may come in
// a context that was made for a request of its parent, hence the session.
type bodyMark struct {
	carrier Carrier
	session Session
}

// InBody writes the members of c for the session of ctx into obj, a JSON object
// that will be the body or a part of it, for encoders that build their bodies
// themselves. A member that obj has already is replaced. With the context that it
// returns a [Transport] of the same carrier leaves the body alone; use it for this
// request only. obj itself is not changed; without members, and without a session
// that can travel, it is returned as it is.
func InBody(ctx context.Context, c Carrier, obj []byte) (context.Context, []byte) {
	s, ok := FromContext(ctx)
	if !ok || s.check() != nil {
		return ctx, obj
	}
	c = orGeneric(c)
	members := c.Members(s, bodyTurn(ctx))
	if len(members) == 0 {
		return ctx, obj
	}
	merged, _, err := mergeMembers(obj, members, true)
	if err != nil { // the Transport meets the same fault and can report it
		return ctx, obj
	}
	return context.WithValue(ctx, bodyKey{}, &bodyMark{carrier: c, session: s}), merged
}

// inBody returns what InBody noted, or nil.
func inBody(ctx context.Context) *bodyMark {
	mark, _ := ctx.Value(bodyKey{}).(*bodyMark)
	return mark
}

// bodyTurn is the turn of ctx without what differs between attempts.
func bodyTurn(ctx context.Context) Turn {
	t := TurnFrom(ctx)
	t.Attempt, t.Last = 0, false
	return t
}

func hasBody(req *http.Request) bool {
	return req.Body != nil && req.Body != http.NoBody
}

// writeMembers puts the carrier's members into the JSON body of out, a clone of the
// caller's request, unless an encoder did so before. On error the body is still to
// be closed.
func (a *Attempt) writeMembers(out *http.Request, c Carrier) error {
	members := c.Members(a.Session, bodyTurn(a.ctx))
	if len(members) == 0 || !hasBody(out) {
		return nil
	}
	if mark := inBody(a.ctx); mark != nil && mark.session == a.Session && sameCarrier(mark.carrier, c) {
		return nil
	}
	media, _, err := mime.ParseMediaType(headerValue(out.Header, "Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) ||
		media != "application/json" && !strings.HasSuffix(media, "+json") {
		return nil
	}
	if coding := headerValue(out.Header, "Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fmt.Errorf("no member can be written into a body with content coding %q; compress below the Transport, or %s", coding, remedy)
	}
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return fmt.Errorf("reading the request body: %w", err)
	}
	merged, own, err := mergeMembers(body, members, false)
	if err != nil {
		return fmt.Errorf("request body: %w; to send it as it is, %s", err, remedy)
	}
	if err := out.Body.Close(); err != nil {
		out.Body = http.NoBody
		return fmt.Errorf("closing the request body: %w", err)
	}
	a.own = a.own || own
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(merged)), nil }
	out.Body, _ = out.GetBody()
	out.ContentLength = int64(len(merged))
	return nil
}

const remedy = "exclude such requests with Transport.Match or routing.Without"

// headerValue returns the first value under name in any spelling.
func headerValue(h http.Header, name string) string {
	for present, values := range h {
		if len(present) == len(name) && len(values) > 0 && strings.EqualFold(present, name) {
			return values[0]
		}
	}
	return ""
}
