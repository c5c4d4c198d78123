package perf

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/homing-go/homing/routing"
)

// A Conversation is one entry of a performance dataset.
type Conversation struct {
	ID    string
	Turns []Turn
}

// A Turn is one request of a conversation.
type Turn struct {
	// Messages are all that the request sends.
	Messages []json.RawMessage
	// Delay is the pause before the request.
	Delay time.Duration
}

// Config says what to plan.
type Config struct {
	// Conversations are not changed, and must not be changed while the plan is used.
	Conversations []Conversation
	// Trajectories is how many are issued; 0 means one for each conversation.
	Trajectories int
	// Salt tells trajectories apart for prefix caches.
	Salt bool
	// Delays makes the turns wait for their delays.
	Delays bool
}

// A Plan is a list of trajectories. It may be used from several goroutines.
type Plan struct {
	cfg Config
}

// An Error tells why conversations cannot be issued. It shows the ID of one, but nothing of
// what is in it.
type Error struct {
	Conversation string
	Reason       string
}

func (e *Error) Error() string {
	id := e.Conversation
	if len(id) > 64 {
		id = id[:64] + "..."
	}
	return fmt.Sprintf("perf: conversation %+q: %s", id, e.Reason)
}

// New checks cfg. The error is an *[Error].
func New(cfg Config) (*Plan, error) {
	if cfg.Trajectories < 0 {
		return nil, &Error{Reason: fmt.Sprintf("%d trajectories cannot be issued", cfg.Trajectories)}
	}
	if cfg.Trajectories == 0 {
		cfg.Trajectories = len(cfg.Conversations)
	}
	if cfg.Trajectories > 0 && len(cfg.Conversations) == 0 {
		return nil, &Error{Reason: "there are none to issue"}
	}
	p := &Plan{cfg: cfg}
	seen := make(map[string]int, len(cfg.Conversations))
	for n, c := range cfg.Conversations {
		if _, ok := seen[c.ID]; ok {
			return nil, &Error{c.ID, "another one has the same ID; their requests could not be told apart"}
		}
		seen[c.ID] = n
	}
	for n, c := range cfg.Conversations {
		if err := p.check(n, c, seen); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Plan) check(n int, c Conversation, seen map[string]int) error {
	instances := p.instances(n)
	for _, i := range []int{1, max(instances, 1)} { // the shortest and the longest ID
		if _, err := routing.ParseID(logical(c.ID, i)); err != nil {
			return &Error{c.ID, err.Error()}
		}
	}
	if at := strings.LastIndex(c.ID, repeatMark); at >= 0 {
		i, err := strconv.Atoi(c.ID[at+len(repeatMark):])
		source, ok := seen[c.ID[:at]]
		if err == nil && ok && i > 1 && i <= p.instances(source) && logical(c.ID[:at], i) == c.ID {
			return &Error{c.ID, fmt.Sprintf("it has the ID of a repeat of %+q; rename it", c.ID[:at])}
		}
	}
	if !p.cfg.Salt || instances == 0 {
		return nil
	}
	for i, t := range c.Turns {
		if _, err := salted(t.Messages, 1, c.ID); err != nil {
			return &Error{c.ID, fmt.Sprintf("turn %d: %v", i+1, err)}
		}
	}
	return nil
}

// instances is how many trajectories replay conversation n.
func (p *Plan) instances(n int) int {
	if p.Len() <= n {
		return 0
	}
	return (p.Len()-n-1)/len(p.cfg.Conversations) + 1
}

// Len is how many trajectories there are.
func (p *Plan) Len() int { return p.cfg.Trajectories }

// At returns trajectory k, from 0 to Len() - 1.
func (p *Plan) At(k int) Trajectory {
	n := len(p.cfg.Conversations)
	c := &p.cfg.Conversations[k%n]
	return Trajectory{ID: logical(c.ID, k/n+1), Source: c.ID, Instance: k/n + 1, conversation: c, cfg: &p.cfg}
}

const repeatMark = "__repeat_"

func logical(source string, instance int) string {
	if instance == 1 {
		return source
	}
	return source + repeatMark + strconv.Itoa(instance)
}

// A Trajectory is one replay of a conversation.
type Trajectory struct {
	ID       string // the logical one, which is the session's
	Source   string // the conversation's
	Instance int    // from 1

	conversation *Conversation
	cfg          *Config
}

// Context puts the trajectory's session into ctx, for all of its requests.
func (t Trajectory) Context(ctx context.Context) context.Context {
	return routing.NewContext(ctx, routing.NewSession(routing.ID(t.ID)))
}

// Turns is how many requests it has.
func (t Trajectory) Turns() int { return len(t.conversation.Turns) }

// Turn returns turn i, counted from 0, salted and with its delay if the plan says so.
func (t Trajectory) Turn(i int) Turn {
	turn := t.conversation.Turns[i]
	if !t.cfg.Delays {
		turn.Delay = 0
	}
	if t.cfg.Salt {
		turn.Messages, _ = salted(turn.Messages, t.Instance, t.Source) // New has tried it
	}
	return turn
}
