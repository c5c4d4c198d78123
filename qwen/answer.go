package qwen

import "github.com/homing-go/homing/model"

// An answer is what a server sent, and after understand what it means.
type answer struct {
	content, reasoning string
	structured         []foundCall
	mode               thinkingMode
	parsed             bool // the server took thinking apart
	tools              catalog
	turn               int
	cut                bool // at the token limit
	// history tells that the answer is an old one: its calls are not judged again, and
	// drafts stay drafts.
	history bool

	text, thinking string
	calls          []judged
	repairs        repairs
}

// understand takes thinking apart, finds the calls and judges them. Structured calls
// count alone; without any, those in the content; without content, those that end
// thinking which was never closed.
func (a *answer) understand() {
	content, reasoning := a.content, a.reasoning
	if a.mode == thinkingOff && blank(content) && !blank(reasoning) {
		content, reasoning = reasoning, ""
		a.parsed = false
		a.repairs.add(RepairAnswerInReasoning, answerRepair)
	}
	reasoning, behind := cleanReasoning(reasoning, content)
	if blank(reasoning) {
		reasoning = ""
	}
	content += behind
	s := splitThinking(content, a.mode, a.parsed)
	a.text = s.content

	found := a.structured
	offered := a.tools.tools.Len() > 0 || a.tools.open
	switch {
	case !offered:
	case len(found) > 0:
		if f := findCalls(s.content, a.tools); len(f.gone) > 0 || len(f.stray) > 0 {
			a.text = f.rest(true)
			a.repairs.add(RepairStrayTags, answerRepair)
		}
	default:
		found = a.inContent(s.content)
		if len(found) > 0 || !blank(a.text) || a.history {
			break
		}
		// Only thinking that was not closed: a call in closed thinking is a draft.
		var before string
		if s.unclosed {
			if found, before = findCalls(s.thinking, a.tools).trailing(); len(found) > 0 {
				s.thinking = before
			}
		} else if !s.found {
			if found, before = findCalls(reasoning, a.tools).trailing(); len(found) > 0 {
				reasoning = before
			}
		}
		for i := range found {
			found[i].mend(RepairCallInReasoning)
		}
	}
	j := judge{tools: a.tools, repairs: &a.repairs, turn: a.turn, history: a.history && len(a.structured) > 0}
	a.calls = j.calls(found, a.cut)
	a.thinking = validText(joinTexts(reasoning, s.thinking))
	a.text = validText(a.text)
}

// inContent finds the calls in the content and takes them out of the text.
func (a *answer) inContent(content string) []foundCall {
	f := findCalls(content, a.tools)
	if len(f.calls) > 0 {
		a.text = f.rest(true)
		for i := range f.calls {
			f.calls[i].mend(RepairCallInContent)
		}
		return f.calls
	}
	calls := wholeJSON(content, a.tools)
	if len(calls) > 0 {
		a.text = ""
	}
	return calls
}

// finish normalises the finish reason: the calls decide, not what the server says.
func (a *answer) finish(reason string) model.Finish {
	var f model.Finish
	switch {
	case gaveUp(reason):
		return model.Finish(reason)
	case a.cut:
		return model.FinishLength
	case len(a.calls) > 0:
		f = model.FinishToolCalls
	case reason == "" || reason == string(model.FinishToolCalls) || reason == "function_call":
		f = model.FinishStop
	default:
		return model.Finish(reason)
	}
	if reason != string(f) && reason != "" {
		a.repairs.add(RepairFinishFixed, answerRepair)
	}
	return f
}

// isCut reports whether the reason says that the token limit ended the answer.
func isCut(reason string) bool {
	switch reason {
	case "length", "max_tokens", "max_length", "model_length":
		return true
	}
	return false
}

// gaveUp reports whether the reason says that the server did not finish.
func gaveUp(reason string) bool { return reason == "abort" || reason == "error" }

// blank reports whether a text is white space alone. There is one notion of it, that of the
// syntax: what a stream has shown as text must not turn out to be nothing.
func blank[T string | []byte](text T) bool { return skipBlanks(text, 0) == len(text) }
