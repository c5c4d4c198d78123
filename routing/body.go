package routing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

type bodyKey struct{}

// InBody writes the members of c for the session of ctx into obj, a JSON object
// that will be the body or a part of it, for encoders that build their bodies
// themselves. A member that obj has already is replaced. With the context that it
// returns a [Transport] leaves the body alone. obj itself is not changed; without
// members it is returned as it is.
func InBody(ctx context.Context, c Carrier, obj []byte) (context.Context, []byte) {
	s, ok := FromContext(ctx)
	if !ok {
		return ctx, obj
	}
	c = orGeneric(c)
	members := c.Members(s, bodyTurn(ctx))
	if len(members) == 0 {
		return ctx, obj
	}
	merged, err := mergeMembers(obj, members, true)
	if err != nil { // the Transport meets the same fault and can report it
		return ctx, obj
	}
	return context.WithValue(ctx, bodyKey{}, c), merged
}

// bodyTurn is the turn of ctx without what differs between attempts.
func bodyTurn(ctx context.Context) Turn {
	t := TurnFrom(ctx)
	t.Attempt, t.Last = 0, false
	return t
}

// writeMembers puts the carrier's members into the JSON body of out, a clone of the
// caller's request, unless an encoder did so before.
func writeMembers(out *http.Request, c Carrier, s Session) error {
	members := c.Members(s, bodyTurn(out.Context()))
	if len(members) == 0 || out.Body == nil || out.Body == http.NoBody {
		return nil
	}
	if done, ok := out.Context().Value(bodyKey{}).(Carrier); ok && sameCarrier(done, c) {
		return nil
	}
	media, _, _ := mime.ParseMediaType(headerValue(out.Header, "Content-Type"))
	if media != "application/json" && !strings.HasSuffix(media, "+json") {
		return nil
	}
	if coding := headerValue(out.Header, "Content-Encoding"); coding != "" && coding != "identity" {
		return fmt.Errorf("no member can be written into a body with content coding %q", coding)
	}
	body, err := io.ReadAll(out.Body)
	if err = errors.Join(err, out.Body.Close()); err != nil {
		return fmt.Errorf("reading the request body: %w", err)
	}
	merged, err := mergeMembers(body, members, false)
	if err != nil {
		return fmt.Errorf("request body: %w; exclude such requests with Transport.Match or routing.Without", err)
	}
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(merged)), nil }
	out.Body, _ = out.GetBody()
	out.ContentLength = int64(len(merged))
	return nil
}

func headerValue(h http.Header, name string) string {
	for present, values := range h {
		if strings.EqualFold(present, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

func sameCarrier(a, b Carrier) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() && a == b
}

// mergeMembers returns obj with the members in it and every other byte unchanged.
func mergeMembers(obj []byte, members []Member, replace bool) ([]byte, error) {
	obj, err := rawjson.Only(obj)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if len(m.Path) == 0 {
			return nil, errors.New("a carrier's member has no path")
		}
		if err := rawjson.Valid(m.Value); err != nil {
			return nil, fmt.Errorf("value of the carrier's member %q: %w", strings.Join(m.Path, "."), err)
		}
		if obj, err = setMember(obj, m.Path, m.Value, replace); err != nil {
			return nil, err
		}
	}
	return obj, nil
}

func setMember(obj []byte, path []string, value []byte, replace bool) ([]byte, error) {
	found, from, to := []byte(nil), 0, 0
	n := 0
	o := rawjson.Members(obj)
	for ; o.Next(); n++ {
		if string(o.Key) == path[0] {
			found, from, to = o.Value, o.To-len(o.Value), o.To
		}
	}
	if o.Err != nil {
		return nil, o.Err
	}
	switch {
	case found == nil:
		member := rawjson.AppendQuoted(nil, path[0])
		member = append(member, ':')
		member = append(member, nest(path[1:], value)...)
		if n > 0 {
			member = append([]byte{','}, member...)
		}
		end := bytes.LastIndexByte(obj, '}')
		return slices.Concat(obj[:end], member, obj[end:]), nil
	case len(path) > 1 && rawjson.Kind(found) == '{':
		inner, err := setMember(found, path[1:], value, replace)
		if err != nil {
			return nil, err
		}
		return slices.Concat(obj[:from], inner, obj[to:]), nil
	case !replace:
		return obj, nil
	default:
		return slices.Concat(obj[:from], nest(path[1:], value), obj[to:]), nil
	}
}

// nest wraps value into objects, one for each name of path.
func nest(path []string, value []byte) []byte {
	for _, name := range slices.Backward(path) {
		b := rawjson.AppendQuoted([]byte{'{'}, name)
		b = append(b, ':')
		value = append(append(b, value...), '}')
	}
	return value
}
