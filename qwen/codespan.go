package qwen

import "strings"

// codeSpans holds the runs of backticks in a text. A run opens inline code if another of
// the same length follows in its paragraph; else it is text.
type codeSpans struct {
	runs []backticks
	next int // index of the first run that was not passed
}

type backticks struct {
	at, end   int
	paragraph int
	closer    int  // index of the run that closes it, or -1
	pending   bool // a closer may still come
}

// findCodeSpans collects the runs from an offset on, in one pass. A paragraph ends at a
// blank line and at a line that opens a fence.
func findCodeSpans(text string, at int, final bool) *codeSpans {
	s := new(codeSpans)
	paragraph, open := 0, 0 // open is the first paragraph that may go on
	for first := true; at < len(text); first = false {
		end, whole := len(text), final
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end, whole = at+n+1, true
		}
		line := text[at:end]
		if !first {
			_, _, v := fenceOpener(line, 0, whole)
			if v == unknown {
				break
			}
			if v == yes || strings.TrimSpace(line) == "" {
				paragraph++
				open = paragraph
			}
			if v == yes { // prose finds the fence; here it ends a paragraph
				at = end
				continue
			}
		}
		for i := at; ; {
			n := strings.IndexByte(text[i:end], '`')
			if n < 0 {
				break
			}
			run := backticks{at: i + n, paragraph: paragraph, closer: -1}
			for i = run.at; i < end && text[i] == '`'; i++ {
			}
			run.end = i
			s.runs = append(s.runs, run)
		}
		at = end
	}
	// From the end on, the latest run of a length is the closer of the one before it.
	latest := map[int]int{}
	for i := len(s.runs) - 1; i >= 0; i-- {
		run := &s.runs[i]
		length := run.end - run.at
		cut := !final && run.end == len(text) // it may become longer
		if j, ok := latest[length]; ok && s.runs[j].paragraph == run.paragraph {
			run.closer = j
		}
		run.pending = !final && run.closer < 0 && (run.paragraph >= open || cut)
		if !cut {
			latest[length] = i
		}
	}
	return s
}

// from returns where the text goes on behind the run of backticks at an offset.
func (s *codeSpans) from(offset int) (int, verdict) {
	for s.next < len(s.runs) && s.runs[s.next].at < offset {
		s.next++
	}
	if s.next == len(s.runs) || s.runs[s.next].at != offset {
		return offset + 1, no
	}
	run := s.runs[s.next]
	switch {
	case run.closer >= 0:
		return s.runs[run.closer].end, yes
	case run.pending:
		return offset, unknown
	}
	return run.end, no
}
