package qwen

import (
	"bytes"
	"strconv"
)

// maxDigits bounds an integer that is written out of an exponent.
const maxDigits = 64

// integral returns a JSON number without fraction and exponent, if it has that form. One
// that would become too long is returned as it is.
func integral(value []byte) ([]byte, bool) {
	mantissa, exponent := value, 0
	if at := bytes.IndexAny(value, "eE"); at >= 0 {
		mantissa = value[:at]
		var err error
		if exponent, err = strconv.Atoi(string(value[at+1:])); err != nil {
			return value, value[at+1] != '-'
		}
	}
	whole, fraction, dotted := bytes.Cut(mantissa, []byte("."))
	if !dotted && len(mantissa) == len(value) {
		return value, true
	}
	if exponent > maxDigits {
		return value, true
	}
	negative := whole[0] == '-'
	digits := append(append([]byte(nil), bytes.TrimPrefix(whole, []byte("-"))...), fraction...)
	exponent -= len(fraction)
	for ; exponent < 0 && len(digits) > 0; exponent++ {
		if digits[len(digits)-1] != '0' {
			return value, false
		}
		digits = digits[:len(digits)-1]
	}
	for ; exponent > 0; exponent-- {
		digits = append(digits, '0')
	}
	digits = bytes.TrimLeft(digits, "0")
	switch {
	case len(digits) == 0:
		return []byte("0"), true
	case negative:
		return append([]byte("-"), digits...), true
	}
	return digits, true
}
