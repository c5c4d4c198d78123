// Package pyint converts to integers as Python's int() does, for options and counters that
// Python programs read that way.
package pyint

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/homing-go/homing/internal/rawjson"
)

// limit is where an integer is no longer taken: nothing that is counted here reaches it.
const limit = 1<<31 - 1

// JSON converts a JSON value: numbers lose their fraction, true is 1, strings are read as
// [Text] reads them.
func JSON(value []byte) (int, bool) {
	switch kind := rawjson.Kind(value); {
	case kind == '"':
		return Text(rawjson.Text(value))
	case kind == 't':
		return 1, true
	case kind == 'f':
		return 0, true
	case kind == '-' || '0' <= kind && kind <= '9':
		f, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return 0, false
		}
		return Float(f)
	}
	return 0, false
}

// Float drops the fraction; it refuses what is not finite.
func Float(f float64) (int, bool) {
	f = math.Trunc(f)
	if math.IsNaN(f) || math.Abs(f) > limit {
		return 0, false
	}
	return int(f), true
}

// Text reads decimal digits of any script, with a sign, single underscores between them and
// white space around them.
func Text(s string) (int, bool) {
	s = strings.Map(ascii, strings.TrimSpace(s))
	number := strings.TrimLeft(s, "+-")
	if len(s)-len(number) > 1 {
		return 0, false
	}
	for part := range strings.SplitSeq(number, "_") {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil || n > limit || n < -limit {
		return 0, false
	}
	return int(n), true
}

// ascii returns the ASCII digit for one of another script; other characters stay. Unicode keeps
// the ten digits of a script together, beginning with zero.
func ascii(r rune) rune {
	if r < 0x80 || !unicode.IsDigit(r) {
		return r
	}
	zero := r
	for unicode.IsDigit(zero - 1) {
		zero--
	}
	return '0' + (r-zero)%10
}
