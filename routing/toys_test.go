package routing_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// The carriers of this file are toys of each family that routers are known to want.
// They show that the interface holds them.

// bodyCarrier sends the ID in a member of the body.
type bodyCarrier struct {
	routing.None
	path []string
}

func (c *bodyCarrier) Members(s routing.Session, _ routing.Turn) []routing.Member {
	value, _ := json.Marshal(s.ID)
	return []routing.Member{{Path: c.path, Value: value}}
}

// learned keys what a router issued.
type learned struct {
	session routing.ID
	origin  string
	model   string
}

func key(a *routing.Attempt) learned {
	return learned{session: a.Session.ID, origin: a.Origin, model: a.Turn.Model}
}

// store is what an issued token lives in.
type store struct {
	mu     sync.Mutex
	tokens map[learned]string
}

func (s *store) get(a *routing.Attempt) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens[key(a)]
}

func (s *store) put(a *routing.Attempt, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens == nil {
		s.tokens = map[learned]string{}
	}
	if token == "" {
		delete(s.tokens, key(a))
		return
	}
	s.tokens[key(a)] = token
}

// tokenCarrier echoes a token of the response.
type tokenCarrier struct {
	routing.None
	name  string
	store store
}

func (c *tokenCarrier) Head(a *routing.Attempt) error {
	if a.Turn.Last { // the last attempt must not go to a dead backend
		c.store.put(a, "")
	}
	a.SetHeader(c.name, c.store.get(a))
	return nil
}

func (c *tokenCarrier) Observe(a *routing.Attempt, res *http.Response, err error) {
	if err == nil && res.Header.Get(c.name) != "" {
		c.store.put(a, res.Header.Get(c.name))
	}
}

func (c *tokenCarrier) End(a *routing.Attempt) error {
	c.store.put(a, "")
	return nil
}

// cookieCarrier keeps the router's cookie for each session and takes it out of the
// response, so that no client-wide jar hands it to another one.
type cookieCarrier struct {
	routing.None
	name  string
	store store
}

func (c *cookieCarrier) Head(a *routing.Attempt) error {
	a.SetCookie(c.name, c.store.get(a))
	return nil
}

func (c *cookieCarrier) Observe(a *routing.Attempt, res *http.Response, err error) {
	if err != nil {
		return
	}
	var others []string
	for _, line := range res.Header["Set-Cookie"] {
		cookie, err := http.ParseSetCookie(line)
		if err != nil || cookie.Name != c.name {
			others = append(others, line)
			continue
		}
		c.store.put(a, cookie.Value)
	}
	res.Header["Set-Cookie"] = others
}

// finalCarrier marks the last turn, and closes the session at the router.
type finalCarrier struct{ routing.None }

func (*finalCarrier) Head(a *routing.Attempt) error {
	if a.Turn.Final {
		a.SetHeader("X-Session-Final", "true")
	}
	return nil
}

func (*finalCarrier) End(a *routing.Attempt) error {
	req, err := http.NewRequestWithContext(a.Context(), http.MethodDelete, a.Origin+"/sessions/"+string(a.Session.ID), nil)
	if err != nil {
		return err
	}
	res, err := a.Do(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// turnCarrier tells turn and attempt, and the tree.
type turnCarrier struct{ routing.None }

func (turnCarrier) Head(a *routing.Attempt) error {
	a.SetHeader("X-Turn", fmt.Sprintf("%d.%d", a.Turn.Index, a.Turn.Attempt))
	a.SetHeader("X-Parent", string(a.Session.Parent))
	a.SetHeader("X-Root", string(a.Session.Root))
	return nil
}

// simpleJar gives every cookie to every request, as one client-wide jar does for one
// router.
type simpleJar struct {
	mu      sync.Mutex
	cookies []*http.Cookie
}

func (j *simpleJar) SetCookies(_ *url.URL, cookies []*http.Cookie) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(cookies) > 0 {
		j.cookies = cookies
	}
}

func (j *simpleJar) Cookies(*url.URL) []*http.Cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.cookies
}

func TestTokenIsEchoed(t *testing.T) {
	t.Parallel()
	issue := func(name string) func(int, wireRequest) string {
		return func(n int, _ wireRequest) string {
			return response(200, "ok", fmt.Sprintf("X-Token: %s-%d", name, n))
		}
	}
	one, two := newWire(t, issue("one")), newWire(t, issue("two"))
	carrier := &tokenCarrier{name: "X-Token"}
	transport := &routing.Transport{Base: base(t), Carrier: carrier}
	client := &http.Client{Transport: transport}
	a, _ := session(t)
	b, _ := session(t)
	model := func(name string) routing.Turn { return routing.Turn{Model: name} }

	send(t, client, request(t, routing.WithTurn(a, model("m")), one.URL, "{}"))                           // one-0
	send(t, client, request(t, routing.WithTurn(b, model("m")), one.URL, "{}"))                           // one-1
	send(t, client, request(t, routing.WithTurn(a, model("n")), one.URL, "{}"))                           // one-2
	send(t, client, request(t, routing.WithTurn(a, model("m")), two.URL, "{}"))                           // two-0
	send(t, client, request(t, routing.WithTurn(a, model("m")), one.URL, "{}"))                           // one-3
	send(t, client, request(t, routing.WithTurn(b, model("m")), one.URL, "{}"))                           // one-4
	send(t, client, request(t, routing.WithTurn(a, routing.Turn{Model: "m", Last: true}), one.URL, "{}")) // one-5
	send(t, client, request(t, routing.Without(routing.WithTurn(a, model("m"))), one.URL, "{}"))          // not routed
	send(t, client, request(t, routing.WithTurn(a, model("m")), one.URL, "{}"))                           // one-7
	require.NoError(t, transport.End(routing.WithTurn(a, model("m")), request(t, a, one.URL, "").URL))    // forgets
	send(t, client, request(t, routing.WithTurn(a, model("m")), one.URL, "{}"))                           // one-8

	want := [][]string{nil, nil, nil, {"one-0"}, {"one-1"}, nil, nil, {"one-5"}, nil}
	for i, r := range one.seen() {
		require.Equal(t, want[i], r.exact("X-Token"), "request %d", i)
	}
	require.Empty(t, two.only(t).any("X-Token"), "a token goes to its origin only")
}

func TestCookieStaysWithItsSession(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(n int, r wireRequest) string {
		if len(r.any("Cookie")) > 0 && n > 1 {
			return response(200, "ok")
		}
		return response(200, "ok", fmt.Sprintf("Set-Cookie: route=backend %d, x; Path=/", n), fmt.Sprintf("Set-Cookie: other=%d; Path=/", n))
	})
	jar := new(simpleJar)
	carrier := &cookieCarrier{name: "route"}
	client := routing.Wrap(&http.Client{Transport: base(t), Jar: jar}, carrier)
	a, _ := session(t)
	b, _ := session(t)
	send(t, client, request(t, a, w.URL, "{}"))
	send(t, client, request(t, b, w.URL, "{}"))
	send(t, client, request(t, a, w.URL, "{}"))
	send(t, client, request(t, b, w.URL, "{}"))
	send(t, client, request(t, routing.Without(a), w.URL, "{}"))
	want := [][]string{nil, {"other=0"}, {"other=1; route=backend 0, x"}, {"other=1; route=backend 1, x"}, {"other=1"}}
	for i, r := range w.seen() {
		require.Equal(t, want[i], r.exact("Cookie"), "request %d", i)
	}
}

func TestFinalTurnAndTree(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	client := routing.Wrap(&http.Client{Transport: base(t)}, routing.Join(&finalCarrier{}, turnCarrier{}))
	child := routing.NewSession("root").Child("x").Child("y")
	ctx := routing.NewContext(t.Context(), child)
	send(t, client, request(t, routing.WithTurn(ctx, routing.Turn{Index: 1, Attempt: 2}), w.URL, "{}"))
	send(t, client, request(t, routing.WithTurn(ctx, routing.Turn{Index: 2, Attempt: 1, Final: true}), w.URL, "{}"))
	send(t, client, request(t, routing.NewContext(t.Context(), routing.NewSession("root")), w.URL, "{}"))
	requests := w.seen()
	require.Equal(t, []string{"1.2"}, requests[0].exact("X-Turn"))
	require.Equal(t, []string{string(child.Parent)}, requests[0].exact("X-Parent"))
	require.Equal(t, []string{"root"}, requests[0].exact("X-Root"))
	require.Empty(t, requests[0].any("X-Session-Final"))
	require.Equal(t, []string{"true"}, requests[1].exact("X-Session-Final"))
	require.Equal(t, []string{"2.1"}, requests[1].exact("X-Turn"))
	require.Empty(t, requests[2].any("X-Parent"), "an empty value sets nothing")
	require.Equal(t, []string{"0.0"}, requests[2].exact("X-Turn"))
}
