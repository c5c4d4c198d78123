package modeltest

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// A Step is the answer to one request. It may be used any number of times.
type Step struct {
	name string
	run  func(x *exchange)
}

// unusable says what a step without run is.
func (s Step) unusable() string {
	if s.name == "" {
		return "the zero Step; use one of the functions that return a Step"
	}
	return s.name
}

// Status answers with a status, a header and a body. The header goes out as it is
// spelled; without a content type a body that looks like JSON is sent as such.
func Status(code int, header http.Header, body string) Step {
	header = header.Clone()
	return Step{fmt.Sprintf("status %d", code), func(x *exchange) { x.whole(code, header, body) }}
}

// Redirect answers with a status such as 307 and a location, which may be relative.
func Redirect(code int, url string) Step {
	return Step{fmt.Sprintf("redirect %d", code), func(x *exchange) { x.whole(code, http.Header{"Location": {url}}, "") }}
}

// Reset ends the connection with a TCP reset in the place of an answer.
func Reset() Step {
	return Step{"connection reset", func(x *exchange) {
		x.closing = true
		if tcp, ok := x.conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // closing sends RST now
		}
		_ = x.conn.Close()
	}}
}

// Hold keeps the request until a channel is closed or sends, and then answers with
// the step behind it. A nil channel keeps it for good, with any step. When the client
// closes the connection, and when the server ends, the request is let go without an
// answer.
func Hold(until <-chan struct{}, then Step) Step {
	if until != nil && then.run == nil {
		return then
	}
	return Step{"hold, then " + then.name, func(x *exchange) {
		select {
		case <-until:
			then.run(x)
		case <-x.gone:
			x.closing = true
		case <-x.stop:
			x.closing = true
		}
	}}
}

// Delay is Hold for a time.
func Delay(d time.Duration, then Step) Step {
	if then.run == nil {
		return then
	}
	return Step{fmt.Sprintf("delay of %v, then %s", d, then.name), func(x *exchange) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			then.run(x)
		case <-x.gone:
			x.closing = true
		case <-x.stop:
			x.closing = true
		}
	}}
}
