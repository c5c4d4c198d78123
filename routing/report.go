package routing

// A Verdict says whether a session stayed on its backend.
type Verdict int

const (
	// Unknown means that fewer than two requests told their backend.
	Unknown Verdict = iota
	// Stuck means that all requests that told their backend had the same one.
	Stuck
	// Moved means that at least one was served by another backend than the one
	// before it.
	Moved
)

func (v Verdict) String() string {
	switch v {
	case Stuck:
		return "stuck"
	case Moved:
		return "moved"
	default:
		return "unknown"
	}
}

// A SessionReport is what an [Audit] knows of one session.
type SessionReport struct {
	ID       ID
	Requests int
	// Revealed of them told their backend.
	Revealed int
	// Mismatches were served by another backend than the session's previous one.
	Mismatches int
	// Own came with another routing value of their own.
	Own int
	// Backends are those that served the session, by first use; at most 16 are listed.
	Backends []string
	// CachedTokens came from the prefix cache in turns whose previous turn is known;
	// PriorTokens are the prompts of those previous turns.
	CachedTokens, PriorTokens int
}

// Verdict says whether the session stayed on its backend.
func (r SessionReport) Verdict() Verdict { return verdict(r.Revealed, r.Mismatches) }

// CachedRatio is the part of the previous turns' prompts that was served from the
// prefix cache, 0 to 1; 0 also if PriorTokens is 0 and nothing is known.
func (r SessionReport) CachedRatio() float64 { return ratio(r.CachedTokens, r.PriorTokens) }

// A Report is what an [Audit] knows of all sessions.
type Report struct {
	Requests, Revealed, Mismatches, Own int
	// Sessions counts those that are kept, Forgotten those that no longer are.
	Sessions, Forgotten int
	// Stuck, Moved and Unknown count the kept sessions by verdict.
	Stuck, Moved, Unknown int
	// Backends counts requests by backend; those above the limit of [Audit] are under
	// "(others)". A name of more than 128 bytes is cut and ends in its hash.
	Backends                  map[string]int
	CachedTokens, PriorTokens int
}

// CachedRatio is as in [SessionReport].
func (r Report) CachedRatio() float64 { return ratio(r.CachedTokens, r.PriorTokens) }

func verdict(revealed, mismatches int) Verdict {
	switch {
	case mismatches > 0:
		return Moved
	case revealed > 1:
		return Stuck
	default:
		return Unknown
	}
}

func ratio(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
