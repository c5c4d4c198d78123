package qwen

import (
	"bytes"
	"fmt"
)

// A decoded is the text of a JSON object and how it was come by.
type decoded struct {
	object  []byte
	repairs []string
	kind    Kind // "" when the text is sound
	reason  string
}

func (d *decoded) mend(kind string) { d.repairs = append(d.repairs, kind) }

func (d decoded) refuse(kind Kind, reason string) decoded {
	d.object, d.kind, d.reason = nil, kind, reason
	return d
}

var byteOrderMark = []byte("\ufeff")

// decodeArguments reads the text of a call's arguments. What has one reading is mended;
// what has several is refused and never guessed, and what stops early is never closed: a
// file might be written by half.
func decodeArguments(text []byte) decoded { return decodeText(text, true) }

func decodeText(text []byte, outer bool) (d decoded) {
	body := bytes.TrimSpace(text)
	if bytes.HasPrefix(body, byteOrderMark) {
		body = bytes.TrimSpace(body[len(byteOrderMark):])
		d.mend(RepairByteOrderMark)
	}
	if inner, ok := unfence(body); ok {
		body = inner
		d.mend(RepairFence)
	}
	if len(body) == 0 || string(body) == "null" {
		d.object = []byte("{}")
		d.mend(RepairEmptyArgs)
		return d
	}
	s := scanJSON(body, 0)
	if s.fault != nil {
		if s.fault.early {
			return d.refuse(KindIncompleteArgs, fmt.Sprintf(
				"the arguments stop early, after %d bytes, near %s; send the whole call again, in smaller parts if it is long",
				len(body), excerpt(body, len(body))))
		}
		return d.refuse(KindBadJSON, badJSON(s.fault.reason, body, s.fault.at))
	}
	if rest := bytes.TrimSpace(body[s.end:]); len(rest) > 0 {
		switch {
		case len(bytes.Trim(rest, "}] \t\r\n")) == 0:
			d.mend(RepairExtraClose)
		case repeats(body[:s.end], rest):
			d.mend(RepairArgsRepeated)
		default:
			return d.refuse(KindBadJSON, badJSON("text after the end of the object", body, skipBlanks(body, s.end)))
		}
	}
	if s.ctrl {
		d.mend(RepairControlChars)
	}
	if s.comma {
		d.mend(RepairTrailingComma)
	}
	value := s.mended(body[:s.end:s.end], 0)
	switch value[0] {
	case '{':
		d.object = value
		return d
	case '"':
		if !outer {
			break
		}
		// A string that holds an object is an object encoded twice. Any other text stays a
		// text: pushing it into the only parameter would be a guess.
		inner := appendText(nil, value)
		if at := skipBlanks(inner, 0); at < len(inner) && inner[at] == '{' {
			in := decodeText(inner, false)
			in.repairs = append(append(d.repairs, RepairArgsDoubleEncoded), in.repairs...)
			return in
		}
	}
	return d.refuse(KindArgsNotObject,
		"the arguments must be one JSON object such as {\"name\": \"value\"}, not "+describe(value))
}

func badJSON(reason string, text []byte, at int) string {
	return fmt.Sprintf("the arguments are not valid JSON: %s at byte %d, near %s; "+
		`write one JSON object with names and texts in double quotes, and \" and \\ inside of a text`, reason, at, excerpt(text, at))
}

// repeats reports whether rest is nothing but value, once or more.
func repeats(value, rest []byte) bool {
	for len(rest) > 0 {
		after, ok := bytes.CutPrefix(rest, value)
		if !ok {
			return false
		}
		rest = bytes.TrimLeft(after, blanks)
	}
	return value[0] == '{'
}

const backtickFence = "```"

// unfence takes an object out of a Markdown fence that encloses all of the text.
func unfence(text []byte) ([]byte, bool) {
	inner, opened := bytes.CutPrefix(text, []byte(backtickFence))
	inner, closed := bytes.CutSuffix(inner, []byte(backtickFence))
	if !opened || !closed {
		return text, false
	}
	body := bytes.TrimSpace(inner[skipLanguage(inner, 0):])
	if len(body) == 0 || body[0] != '{' {
		return text, false
	}
	return body, true
}

// skipLanguage goes over the name of a language behind the opener of a fence.
func skipLanguage[T string | []byte](text T, at int) int {
	for at < len(text) && ('a' <= text[at]|0x20 && text[at]|0x20 <= 'z' || '0' <= text[at] && text[at] <= '9') {
		at++
	}
	return at
}

// describe names the kind of a JSON value for a report.
func describe(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "the text " + shorten(validText(string(value)))
	default:
		return shorten(string(value))
	}
}
