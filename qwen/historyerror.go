package qwen

import "fmt"

// A HistoryError is a history that no server of the family takes and that cannot be
// mended: it must not be sent. errors.Is(err, [KindBadHistory]) holds.
type HistoryError struct {
	// Index is that of the message at fault, or -1 for the history as a whole.
	Index  int
	Reason string
}

func (e *HistoryError) Error() string {
	if e.Index < 0 {
		return "qwen: history: " + e.Reason
	}
	return fmt.Sprintf("qwen: history: message %d: %s", e.Index, e.Reason)
}

// Is matches [KindBadHistory].
func (e *HistoryError) Is(target error) bool { return target == KindBadHistory }
