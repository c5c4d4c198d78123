package swebench

// A RequestError tells what is wrong with a [RunRequest] and what to send instead. It
// never shows an endpoint key or an endpoint's URL.
type RequestError struct {
	// Field is the key that it is about; "" if it is about the whole body.
	Field  string
	Reason string
}

func (e *RequestError) Error() string {
	if e.Field == "" {
		return "swebench: run request: " + e.Reason
	}
	return "swebench: run request: " + e.Field + ": " + e.Reason
}

func refuse(field, reason string) error { return &RequestError{Field: field, Reason: reason} }
