package modeltest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
)

// The file is made of lines, whose beginning tells what they are:
//
//	session NAME [parent NAME] [root NAME]    what follows is of this session
//	no session                                ... of none
//	> POST /v1/chat/completions               a request: method and target
//	> Name: value                             its header
//	< 200 OK                                  the response: status
//	< Name: value                             its header
//	<+ Name: value                            its trailer
//	! connection reset                        how it ended, if not well
//	|text                                     a line of a body
//	+text                                     a piece of a body, without a line end
//	"text\n"                                  a piece as a Go string, for what is invisible
//	*AAEC                                     a piece in base64, for what is no text
//
// Values that are not plain are Go strings, too. Empty lines, and those that begin with
// #, are skipped.
const (
	tapeTitle   = "homing recording 1"
	tapeComment = "# Session IDs and secrets are replaced. To record it anew, run its test with " + recordEnv + "=1."
)

func encodeTape(list []*track) []byte {
	b := []byte(tapeTitle + "\n" + tapeComment + "\n")
	for _, t := range list {
		if t.id == "" {
			b = append(b, "\nno session\n"...)
		} else {
			b = fmt.Appendf(b, "\nsession %s", t.id)
			if t.parent != "" {
				b = fmt.Appendf(b, " parent %s", t.parent)
			}
			if t.root != "" {
				b = fmt.Appendf(b, " root %s", t.root)
			}
			b = append(b, '\n')
		}
		for _, e := range t.entries {
			b = appendAnswer(appendRequest(append(b, '\n'), e), e)
		}
	}
	return b
}

func appendRequest(b []byte, e *entry) []byte {
	b = fmt.Appendf(b, "> %s %s\n", e.method, plainOrQuoted(e.target))
	return appendBody(appendFields(b, "> ", e.header), e.body)
}

func appendAnswer(b []byte, e *entry) []byte {
	if e.status != "" {
		b = fmt.Appendf(b, "< %s\n", plainOrQuoted(e.status))
		b = appendBody(appendFields(b, "< ", e.answer), e.text)
		b = appendFields(b, "<+ ", e.trailer)
	}
	if e.end != whole {
		b = fmt.Appendf(b, "! %s\n", e.end)
	}
	return b
}

func appendFields(b []byte, mark string, fields []field) []byte {
	for _, f := range fields {
		b = fmt.Appendf(b, "%s%s: %s\n", mark, f.name, plainOrQuoted(f.value))
	}
	return b
}

func plainOrQuoted(v string) string {
	if v == "" || v[0] == '"' || v[0] == ' ' || !isPlain(v) {
		return strconv.Quote(v)
	}
	return v
}

// isPlain reports whether a line can be seen as it is: editors change blanks at its
// end, git changes carriage returns.
func isPlain(line string) bool {
	for _, r := range line {
		if r == utf8.RuneError || r != '\t' && !strconv.IsPrint(r) {
			return false
		}
	}
	return !strings.HasSuffix(line, " ") && !strings.HasSuffix(line, "\t")
}

const base64Width = 57 // bytes in a line of 76 digits

func appendBody(b []byte, body string) []byte {
	if !utf8.ValidString(body) || strings.IndexByte(body, 0) >= 0 {
		for body != "" {
			n := min(base64Width, len(body))
			b = append(base64.StdEncoding.AppendEncode(append(b, '*'), []byte(body[:n])), '\n')
			body = body[n:]
		}
		return b
	}
	for line := range strings.Lines(body) {
		text, ended := strings.CutSuffix(line, "\n")
		switch {
		case !isPlain(text):
			b = append(strconv.AppendQuote(b, line), '\n')
		case ended:
			b = append(append(append(b, '|'), text...), '\n')
		default:
			for _, piece := range jsonPieces(text) {
				b = append(append(append(b, '+'), piece...), '\n')
			}
		}
	}
	return b
}

// jsonPieces cuts a JSON text behind its members and the elements of its lists, two
// levels down: a line for each message, so that a changed prompt is a changed line.
// Anything else is one piece.
func jsonPieces(text string) []string {
	if kind := rawjson.Kind([]byte(text)); kind != '{' && kind != '[' || rawjson.Valid([]byte(text)) != nil {
		return []string{text}
	}
	var pieces []string
	open := make([]byte, 0, 16) // the brackets around i
	quoted, start := false, 0
	cutBehind := func(i int) {
		if i+1 < len(text) {
			pieces = append(pieces, text[start:i+1])
			start = i + 1
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if open = append(open, c); c == '[' && len(open) == 2 && text[i+1] != ']' {
				cutBehind(i)
			}
		case c == '}' || c == ']':
			open = open[:len(open)-1]
		case c == ',' && (len(open) == 1 || len(open) == 2 && open[1] == '['):
			cutBehind(i)
		}
	}
	return append(pieces, text[start:])
}

// writeTape writes the file in one step: a test that is killed leaves the old one.
func writeTape(file string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
	}()
	if len(data) > maxBody {
		return fmt.Errorf("a file of %d bytes is above the limit, %d", len(data), maxBody)
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // test data, to be read by anyone
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
