package routingtest

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/homing-go/homing/internal/rawjson"
)

// Error reports a configuration or a call that cannot work.
type Error struct {
	What  string // the setting or call
	Value string // what was wrong with which value
	Fix   string // what to do about it
}

// Error implements the error interface.
func (e *Error) Error() string {
	return fmt.Sprintf("routingtest: %s: %s; %s", e.What, e.Value, e.Fix)
}

// requestError refuses a request with an OpenAI error envelope.
type requestError struct {
	status  int
	param   string // member of the body at fault, if it is one
	message string
}

func (e *requestError) Error() string { return e.message }

func badRequest(param, format string, args ...any) *requestError {
	return &requestError{http.StatusBadRequest, param, fmt.Sprintf(format, args...)}
}

// envelope is {"error": ...} as OpenAI writes it.
func envelope(e *requestError) []byte {
	kind := "invalid_request_error"
	switch {
	case e.status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case e.status < 400 || e.status >= 500:
		kind = "server_error"
	}
	b := append([]byte(nil), `{"error":{"message":`...)
	b = rawjson.AppendQuoted(b, e.message)
	b = append(b, `,"type":"`...)
	b = append(b, kind...)
	b = append(b, `","param":`...)
	if e.param == "" {
		b = append(b, "null"...)
	} else {
		b = rawjson.AppendQuoted(b, e.param)
	}
	b = append(b, `,"code":`...)
	b = strconv.AppendInt(b, int64(e.status), 10)
	return append(b, "}}"...)
}

func refuse(w http.ResponseWriter, e *requestError) {
	writeJSON(w, e.status, envelope(e))
}

// writeJSON sends body whole. A failed write means that the client has gone,
// and net/http deals with the connection.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
