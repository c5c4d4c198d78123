package qwen

import "strings"

// blanks is the white space that the syntax knows.
const blanks = " \t\r\n"

// A thinkingMode tells how thinking shows in the text of an answer.
type thinkingMode uint8

const (
	// thinkingMarked: only behind a <think> that begins the content.
	thinkingMarked thinkingMode = iota //nolint:unused // the zero value
	// thinkingOpen: the chat template opened it, so content begins inside of it.
	thinkingOpen
	// thinkingOff: it was switched off.
	thinkingOff
)

// A split is content taken apart.
type split struct {
	thinking, content string
	// found tells that there was thinking in the content, unclosed that it has no end.
	found, unclosed bool
}

// splitThinking takes thinking off the beginning of content. The first </think> ends it,
// whatever stands before: a call that was drafted in thinking must not become a call.
// parsed tells that the server sent thinking apart, so that content begins behind it.
func splitThinking(content string, mode thinkingMode, parsed bool) split {
	s := split{content: content}
	var thinking strings.Builder
	rest := strings.TrimLeft(content, blanks)
	inside := mode == thinkingOpen && !parsed
	// A closer without thinking before it belongs to thinking that came apart.
	skip := inside || parsed || mode == thinkingOff
	for {
		after, marked := strings.CutPrefix(rest, thinkOpen)
		switch {
		case marked || inside:
			rest, inside, s.found, skip = after, false, true, true
			text, behind, closed := strings.Cut(rest, thinkClose)
			if text = strings.Trim(text, blanks); text != "" {
				if thinking.Len() > 0 {
					thinking.WriteByte('\n')
				}
				thinking.WriteString(text)
			}
			s.unclosed = !closed
			rest = behind
		case skip && strings.HasPrefix(rest, thinkClose):
			rest = rest[len(thinkClose):]
			s.found = true
		default:
			if s.found {
				s.content, s.thinking = rest, thinking.String()
			}
			return s
		}
		rest = strings.TrimLeft(rest, blanks)
	}
}

// joinTexts puts two parts of thinking on lines of their own.
func joinTexts(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// cleanReasoning takes the tags off thinking that the server sent apart. When the content
// is blank and a </think> stands inside, the server took the answer for thinking: behind
// is what follows the closer.
func cleanReasoning(reasoning, content string) (text, behind string) {
	if !strings.Contains(reasoning, "<") {
		return reasoning, ""
	}
	text = reasoning
	if rest := strings.TrimLeft(text, blanks); strings.HasPrefix(rest, thinkOpen) {
		text = strings.TrimLeft(rest[len(thinkOpen):], blanks)
	}
	for {
		trimmed := strings.TrimRight(text, blanks)
		if !strings.HasSuffix(trimmed, thinkClose) {
			break
		}
		text = strings.TrimRight(trimmed[:len(trimmed)-len(thinkClose)], blanks)
	}
	if before, after, ok := strings.Cut(text, thinkClose); ok && blank(content) {
		return strings.TrimRight(before, blanks), strings.TrimLeft(after, blanks)
	}
	return text, ""
}
