package model

import (
	"bytes"

	"github.com/homing-go/homing/internal/rawjson"
)

// deltaForm is what consecutive deltas have in common around the one text that each of
// them adds. A delta that has the form is not read: what it says is known but for the text.
type deltaForm struct {
	before, after []byte // with the quotes
	text          *growing
	event         Event // without its text

	// While a delta is read: the only text that it added, if it added one and did nothing
	// else that another delta of the form would not do.
	quoted []byte
	others bool
}

// begin is called before a delta is read, since it may change what the form stands for.
func (f *deltaForm) begin() { *f = deltaForm{before: f.before[:0], after: f.after[:0]} }

// added notes that the delta that is being read added a text.
func (f *deltaForm) added(quoted []byte, text *growing, event Event) {
	f.others = f.others || f.quoted != nil
	f.quoted, f.text, f.event = quoted, text, event
}

// learn takes the form of the delta that was read.
func (f *deltaForm) learn(delta []byte) {
	if f.quoted == nil || f.others {
		return
	}
	from := bytes.Index(delta, f.quoted)
	if from != bytes.LastIndex(delta, f.quoted) { // which of them it was is not worth knowing
		return
	}
	to := from + len(f.quoted)
	f.before, f.after = append(f.before, delta[:from+1]...), append(f.after, delta[to-1:]...)
}

// take adds the text of a delta that has the form, and reports whether the delta had it.
func (f *deltaForm) take(delta []byte, emit func(Event) bool) bool {
	if len(f.before) == 0 || !bytes.HasPrefix(delta, f.before) || !bytes.HasSuffix(delta, f.after) {
		return false
	}
	from, to := len(f.before)-1, len(delta)-len(f.after)+1
	if to-from <= 2 { // an empty text, or one quote in the place of two
		return false
	}
	quoted := delta[from:to]
	if rawjson.Valid(quoted) != nil {
		return false
	}
	event := f.event
	event.Text = f.text.add(quoted)
	emit(event)
	return true
}
