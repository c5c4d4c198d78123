package modeltest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// readTape reads a file that [Tape.Record] wrote, or that someone edited since.
func readTape(file string, maxBytes int) ([]*track, error) {
	f, err := os.Open(file) //nolint:gosec // the caller of a test names its own file
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such recording; to make it, run the test with %s=1 and a base transport", file, recordEnv)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBody {
		return nil, fmt.Errorf("%s: the file is above the limit, %d bytes", file, maxBody)
	}
	list, line, err := parseTape(string(data), maxBytes)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w; correct the line, or record the file anew with %s=1", file, line, err, recordEnv)
	}
	return list, nil
}

// The parts of an entry, in their order.
type part int

const (
	nowhere part = iota // before the first entry of a track
	requestHead
	requestBody
	answerHead
	answerBody
	answerTrailer
	ended
)

type tapeParser struct {
	maxBytes int
	tracks   []*track
	byName   map[string]bool
	track    *track
	entry    *entry
	at       part
	line     int
	// The bodies of entry as far as they are read.
	requestBody, answerBody strings.Builder
}

// parseTape returns the tracks, or an error and its line.
func parseTape(text string, maxBytes int) ([]*track, int, error) {
	p := &tapeParser{maxBytes: maxBytes, byName: map[string]bool{}}
	for line := range strings.Lines(text) {
		p.line++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if p.line == 1 {
			if line = strings.TrimPrefix(line, "\ufeff"); line != tapeTitle {
				return nil, 1, fmt.Errorf("the first line is %.40q, want %q", line, tapeTitle)
			}
			continue
		}
		if err := p.read(line); err != nil {
			return nil, p.line, err
		}
	}
	if p.line == 0 {
		return nil, 1, errors.New("the file is empty")
	}
	if err := p.finish(); err != nil {
		return nil, p.line, err
	}
	return p.tracks, 0, nil
}

func (p *tapeParser) read(line string) error {
	if line == "" {
		return nil
	}
	rest := line[1:]
	switch line[0] {
	case '#':
		return nil
	case '|':
		return p.body(rest + "\n")
	case '+':
		return p.body(rest)
	case '"':
		text, err := strconv.Unquote(line)
		if err != nil {
			return errors.New("the quoted piece of a body is no Go string")
		}
		return p.body(text)
	case '*':
		text, err := base64.StdEncoding.DecodeString(rest)
		if err != nil {
			return fmt.Errorf("a piece of a body: %w", err)
		}
		return p.body(string(text))
	}
	mark, rest, _ := strings.Cut(line, " ")
	switch mark {
	case "session":
		return p.session(strings.Fields(rest))
	case "no":
		if rest == "session" {
			return p.newTrack(&track{})
		}
	case ">":
		return p.request(rest)
	case "<":
		return p.answer(rest)
	case "<+":
		if p.at < answerHead || p.at == ended {
			return errors.New("a trailer without a response before it")
		}
		p.at = answerTrailer
		return addField(&p.entry.trailer, rest)
	case "!":
		if p.at == nowhere || p.at == ended || !outcome(rest).known() || rest == "" {
			return fmt.Errorf("%.40q is no way in which the exchange above can end", rest)
		}
		p.entry.end, p.at = outcome(rest), ended
		return nil
	}
	return fmt.Errorf("%.40q is no line of a recording", line)
}

func (p *tapeParser) session(words []string) error {
	t := &track{}
	for i, word := range words {
		switch {
		case i == 0:
			t.id = word
		case i%2 == 1 && i+1 < len(words) && word == "parent":
			t.parent = words[i+1]
		case i%2 == 1 && i+1 < len(words) && word == "root":
			t.root = words[i+1]
		case i%2 == 1:
			return fmt.Errorf("%.40q is not understood behind a session's name; want \"parent NAME\" or \"root NAME\"", word)
		}
	}
	for i, name := range [...]string{t.id, t.parent, t.root} {
		// A replay puts an ID wherever it finds the name, so it must be no common word.
		if (i == 0 || name != "") && !strings.HasPrefix(name, placeholder) {
			return fmt.Errorf("%.40q is no name of a session; want one such as %s1", name, placeholder)
		}
	}
	return p.newTrack(t)
}

func (p *tapeParser) newTrack(t *track) error {
	if err := p.finish(); err != nil {
		return err
	}
	if p.byName[t.id] {
		return fmt.Errorf("the session %.40q is there already, further up", t.id)
	}
	p.byName[t.id] = true
	p.tracks, p.track, p.at = append(p.tracks, t), t, nowhere
	return nil
}

func (p *tapeParser) request(rest string) error {
	switch p.at {
	case requestHead:
		return addField(&p.entry.header, rest)
	case requestBody:
		return errors.New("a line of a request's header behind its body")
	}
	method, target, ok := strings.Cut(rest, " ")
	if !ok || !isToken(method) {
		return fmt.Errorf("%.40q is no method and target", rest)
	}
	if p.track == nil {
		return errors.New("a request before the first session")
	}
	target, err := unquoted(target)
	if err != nil {
		return err
	}
	if err := p.finish(); err != nil {
		return err
	}
	p.entry = &entry{method: method, target: target, line: p.line}
	p.track.entries = append(p.track.entries, p.entry)
	p.at = requestHead
	return nil
}

func (p *tapeParser) answer(rest string) error {
	switch p.at {
	case requestHead, requestBody:
		status, err := unquoted(rest)
		if err != nil {
			return err
		}
		code, _, _ := strings.Cut(status, " ")
		if n, err := strconv.Atoi(code); err != nil || len(code) != 3 || n < 100 {
			return fmt.Errorf("%.40q is no status", status)
		}
		p.entry.status, p.at = status, answerHead
		return nil
	case answerHead:
		return addField(&p.entry.answer, rest)
	}
	return errors.New("a response's status without a request before it, or a line of its header behind its body")
}

func (p *tapeParser) body(piece string) error {
	switch p.at {
	case requestHead, requestBody:
		p.requestBody.WriteString(piece)
		p.at = requestBody
	case answerHead, answerBody:
		p.answerBody.WriteString(piece)
		p.at = answerBody
	default:
		return errors.New("a piece of a body outside of an exchange")
	}
	if p.requestBody.Len()+p.answerBody.Len() > p.maxBytes {
		return fmt.Errorf("the exchange of line %d is above the limit of %d bytes; raise Tape.MaxBytes", p.entry.line, p.maxBytes)
	}
	return nil
}

// finish ends the entry above, if there is one.
func (p *tapeParser) finish() error {
	switch p.at {
	case nowhere:
		return nil
	case requestHead, requestBody:
		return fmt.Errorf("the exchange of line %d has neither a response nor an end", p.entry.line)
	}
	p.entry.body, p.entry.text = p.requestBody.String(), p.answerBody.String()
	p.requestBody.Reset()
	p.answerBody.Reset()
	return nil
}

func addField(fields *[]field, text string) error {
	name, v, ok := strings.Cut(text, ": ")
	if !ok || !isToken(name) {
		return fmt.Errorf("%.40q is no header name, colon, blank and value", text)
	}
	v, err := unquoted(v)
	*fields = append(*fields, field{name, v})
	return err
}

// unquoted undoes plainOrQuoted.
func unquoted(v string) (string, error) {
	if !strings.HasPrefix(v, `"`) {
		return v, nil
	}
	text, err := strconv.Unquote(v)
	if err != nil {
		return "", fmt.Errorf("%.40q is no Go string", v)
	}
	return text, nil
}
