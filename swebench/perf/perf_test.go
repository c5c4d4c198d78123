package perf_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/swebench/perf"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func messages(texts ...string) []json.RawMessage {
	var list []json.RawMessage
	for _, s := range texts {
		list = append(list, json.RawMessage(s))
	}
	return list
}

func conversation(id string) perf.Conversation {
	return perf.Conversation{ID: id, Turns: []perf.Turn{
		{Messages: messages(`{"role":"system","content":"You <fix> bugs."}`, `{"role":"user","content":"hi"}`), Delay: 2 * time.Second},
		{Messages: messages(`{"role":"system","content":"You <fix> bugs."}`, `{"role":"user","content":"go on"}`), Delay: 3 * time.Second},
	}}
}

func plan(t *testing.T, cfg perf.Config) *perf.Plan {
	t.Helper()
	p, err := perf.New(cfg)
	require.NoError(t, err)
	return p
}

// A wire records the raw header lines of requests.
type wire struct {
	*httptest.Server
	mu   sync.Mutex
	seen []http.Header
}

func newWire(t *testing.T) *wire {
	t.Helper()
	w := new(wire)
	w.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, r.Header.Clone())
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *wire) get(t *testing.T, ctx context.Context, c *http.Client) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL, nil)
	require.NoError(t, err)
	res, err := c.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
}

// Two conversations and five trajectories: the logical IDs go round, and each request's header
// is its trajectory's ID.
func TestCase173_LogicalIDs(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	carrier, err := routing.Header("X-Session-ID")
	require.NoError(t, err)
	client := routing.Wrap(w.Client(), carrier)
	p := plan(t, perf.Config{Conversations: []perf.Conversation{conversation("c1"), conversation("c2")}, Trajectories: 5})
	var ids, sent []string
	for k := range p.Len() {
		trajectory := p.At(k)
		ids = append(ids, trajectory.ID)
		for range trajectory.Turns() {
			w.get(t, trajectory.Context(t.Context()), client)
		}
	}
	require.Equal(t, []string{"c1", "c2", "c1__repeat_2", "c2__repeat_2", "c1__repeat_3"}, ids)
	for _, h := range w.seen {
		sent = append(sent, h.Get("X-Session-ID"))
	}
	require.Equal(t, []string{"c1", "c1", "c2", "c2", "c1__repeat_2", "c1__repeat_2", "c2__repeat_2", "c2__repeat_2", "c1__repeat_3", "c1__repeat_3"}, sent)

	require.Equal(t, 2, plan(t, perf.Config{Conversations: []perf.Conversation{conversation("a"), conversation("b")}}).Len())
	require.Equal(t, 1, plan(t, perf.Config{Conversations: []perf.Conversation{conversation("a"), conversation("b")}, Trajectories: 1}).Len())
	require.Zero(t, plan(t, perf.Config{}).Len())
}

// Only requests with a conversation carry the headers, in the configured spelling.
func TestCase175_HeadersOnlyWithConversation(t *testing.T) {
	t.Parallel()
	var raw strings.Builder
	record := roundTripper(func(r *http.Request) (*http.Response, error) {
		for _, name := range []string{"X-Session-ID", "x-ROUTER-key"} {
			fmt.Fprintf(&raw, "%s=%v ", name, r.Header[name])
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})
	carrier, err := routing.Header("X-Session-ID", "x-ROUTER-key")
	require.NoError(t, err)
	client := &http.Client{Transport: &routing.Transport{Base: record, Carrier: carrier, Missing: routing.MissingRefuse}}
	p := plan(t, perf.Config{Conversations: []perf.Conversation{conversation("c1")}})
	for _, ctx := range []context.Context{p.At(0).Context(t.Context()), routing.Without(t.Context())} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://h", nil)
		require.NoError(t, err)
		res, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	require.Equal(t, "X-Session-ID=[c1] x-ROUTER-key=[c1] X-Session-ID=[] x-ROUTER-key=[] ", raw.String())
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Two repeats of conv1 carry the salts 4461/e643 and ba75/e643, and the source stays as it is.
func TestCase176_Salts(t *testing.T) {
	t.Parallel()
	c := perf.Conversation{ID: "conv1", Turns: []perf.Turn{{Messages: messages(
		`{"role":"system","content":[{"type":"text","text":"a list"}]}`, `{"x":1.0, "role":"system", "content" : "You <fix> \u00e9 bugs." ,"y":[]}`, `{"role":"system","content":"second"}`)}}}
	before := fmt.Sprintf("%s", c.Turns[0].Messages)
	p := plan(t, perf.Config{Conversations: []perf.Conversation{c}, Trajectories: 3, Salt: true})
	for k, salt := range []string{"4461", "ba75", "0967"} {
		got := p.At(k).Turn(0).Messages
		require.Equal(t, `{"x":1.0, "role":"system", "content" : "[salt: `+salt+`]\n\nYou <fix> é bugs.\n\n[salt: e643]" ,"y":[]}`, string(got[1]))
		require.Equal(t, string(c.Turns[0].Messages[0]), string(got[0]))
		require.Equal(t, string(c.Turns[0].Messages[2]), string(got[2]))
	}
	require.Equal(t, before, fmt.Sprintf("%s", c.Turns[0].Messages))
	unsalted := plan(t, perf.Config{Conversations: []perf.Conversation{c}}).At(0).Turn(0).Messages
	require.Equal(t, before, fmt.Sprintf("%s", unsalted))
}

// A delay is that of the source conversation's turn in every repeat, while the session is the
// logical one.
func TestCase178_Delays(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		p := plan(t, perf.Config{Conversations: []perf.Conversation{conversation("c1"), {ID: "c2", Turns: []perf.Turn{{Delay: time.Second}}}}, Trajectories: 4, Delays: on})
		for k := range p.Len() {
			trajectory := p.At(k)
			session, _ := routing.FromContext(trajectory.Context(t.Context()))
			require.Equal(t, []string{"c1", "c2", "c1__repeat_2", "c2__repeat_2"}[k], string(session.ID))
			require.Equal(t, []string{"c1", "c2"}[k%2], trajectory.Source)
			for i := range trajectory.Turns() {
				want := [][]time.Duration{{2 * time.Second, 3 * time.Second}, {time.Second}}[k%2][i]
				if !on {
					want = 0
				}
				require.Equal(t, want, trajectory.Turn(i).Delay)
			}
		}
	}
}

// What cannot be issued is refused before anything is.
func TestRefused(t *testing.T) {
	t.Parallel()
	bare := func(ids ...string) (list []perf.Conversation) {
		for _, id := range ids {
			list = append(list, perf.Conversation{ID: id, Turns: []perf.Turn{{}}})
		}
		return list
	}
	withMessages := func(texts ...string) []perf.Conversation {
		return []perf.Conversation{{ID: "a", Turns: []perf.Turn{{Messages: messages(texts...)}}}}
	}
	for name, cfg := range map[string]perf.Config{
		"twice":      {Conversations: bare("a", "a")},
		"collision":  {Conversations: bare("a", "a__repeat_2"), Trajectories: 3},
		"empty":      {Conversations: bare("")},
		"space":      {Conversations: bare("a b")},
		"not ASCII":  {Conversations: bare("é")},
		"new line":   {Conversations: bare("a\nb")},
		"long":       {Conversations: bare(strings.Repeat("a", 250)), Trajectories: 2},
		"none":       {Trajectories: 1},
		"negative":   {Conversations: bare("a"), Trajectories: -1},
		"no message": {Conversations: bare("a"), Salt: true},
		"no system":  {Conversations: withMessages(`{"role":"user","content":"x"}`), Salt: true},
		"no text":    {Conversations: withMessages(`{"role":"system","content":[]}`, `{"role":"system"}`, `5`, `{"role":"system","content":null}`), Salt: true},
	} {
		_, err := perf.New(cfg)
		var fault *perf.Error
		require.ErrorAs(t, err, &fault, name)
	}
	plan(t, perf.Config{Conversations: bare("a", "a__repeat_02", "a__repeat_1", "a__repeat_3", "b__repeat_2", "a__repeat_"), Trajectories: 10})
	require.Equal(t, 1<<40, plan(t, perf.Config{Conversations: bare("a"), Trajectories: 1 << 40}).Len())
	plan(t, perf.Config{Conversations: bare("a", "a__repeat_2")}) // no repeats, no collision
	plan(t, perf.Config{Conversations: bare(strings.Repeat("a", 250))})
}
