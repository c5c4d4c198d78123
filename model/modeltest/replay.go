package modeltest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
)

// player is the transport of [Tape.Replay].
type player struct {
	t     testing.TB
	file  string
	tape  Tape
	scrub *scrubber

	mu     sync.Mutex
	tracks []*played
	// live are the sessions of the replay by their IDs, in the place that they took.
	live   map[routing.ID]*played
	lost   map[routing.ID]error // what the next requests of a session fail with, too
	faults []string
	notes  []string // what explains a failure of the test's own
	over   bool
}

// played is a track under way. In one without a session the entries have no order.
type played struct {
	*track
	first string     // request, in neutral form
	taken routing.ID // by this session; "" for none
	next  int
	used  []bool // without a session, in the place of next
}

func newPlayer(t testing.TB, file string, c Tape, tracks []*track) *player {
	p := &player{t: t, file: file, tape: c, scrub: newScrubber(c), live: map[routing.ID]*played{}, lost: map[routing.ID]error{}}
	for _, t := range tracks {
		if len(t.entries) == 0 {
			continue
		}
		first := t.entries[0].renamed(t.neutral()).key()
		p.tracks = append(p.tracks, &played{track: t, first: first, used: make([]bool, len(t.entries))})
	}
	return p
}

// RoundTrip implements [http.RoundTripper].
func (p *player) RoundTrip(req *http.Request) (*http.Response, error) {
	c := captureRequest(req)
	body, rest, err := readRequestBody(req, p.tape.maxBytes())
	if rest != nil {
		_ = rest.Close()
	}
	if err != nil && !errors.Is(err, errTooLarge) {
		return nil, err
	}
	c.body = body
	e, err := p.take(c)
	if err != nil {
		return nil, err
	}
	return p.respond(req, e)
}

// A mismatch is a request that is not in the recording. To try it again is no use,
// which a [model.RequestError] tells to clients.
type mismatch struct{ text string }

func (m *mismatch) Error() string { return "modeltest: " + m.text }

func (m *mismatch) Unwrap() error { return &model.RequestError{Field: "recording", Reason: m.text} }

// take returns the entry that answers the request, with the IDs of this run.
func (p *player) take(c *captured) (*entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil, errTestOver
	}
	if err := p.lost[c.session.ID]; err != nil {
		return nil, err
	}
	ids := trackOf(c.session).ids()
	for id := range p.live {
		ids = append(ids, string(id))
	}
	got := p.scrub.clean(c, ids, p.scrub.seenIn(c.header, c.target, ids))
	t, e, why := p.find(c.session, got.renamed(p.others(c.session)))
	if e == nil {
		err := &mismatch{fmt.Sprintf("replay %s: %s; if that is meant, record the file anew with %s=1", p.file, why, recordEnv)}
		if !slices.Contains(p.faults, err.text) { // a client may have tried again
			p.faults = append(p.faults, err.text)
		}
		if c.session.ID != "" {
			p.lost[c.session.ID] = err
		}
		return nil, err
	}
	var back names
	for _, n := range append(t.names(c.session), p.others(c.session)...) {
		if n.from != "" { // else the file's name stays
			back = append(back, pair{n.to, n.from})
		}
	}
	return e.renamedAnswer(back), nil
}

// note keeps a mismatch that the caller may not care about: it is seen in the error,
// and reported if the test fails.
func (p *player) note(format string, args ...any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
	return &mismatch{fmt.Sprintf("replay %s: ", p.file) + p.notes[len(p.notes)-1]}
}

// end reports what did not match, and what nobody asked for.
func (p *player) end() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	for _, fault := range p.faults {
		p.t.Errorf("modeltest: %s", fault)
	}
	if p.t.Failed() { // what is left would only repeat what is known
		for _, note := range p.notes {
			p.t.Errorf("modeltest: replay %s: %s", p.file, note)
		}
		return
	}
	for _, t := range p.tracks {
		for i, e := range t.entries {
			if t.id == "" && !t.used[i] {
				p.t.Errorf("modeltest: replay %s: recorded exchange never asked for: %s of line %d, without a session", p.file, e.title(), e.line)
			}
			if t.id != "" && i >= t.next {
				p.t.Errorf("modeltest: replay %s: recorded exchange never asked for: %s of line %d, exchange %d of %s", p.file, e.title(), e.line, i+1, t.id)
			}
		}
	}
}
