package routing

import (
	"net/http"
	"reflect"
)

// A Carrier is one way for a session to travel: in a header, in a member of the
// body, in a cookie, or as a token that the router issues and the client echoes.
// Implementations are safe for concurrent use; embed [None] and write the methods
// you need. What a carrier learns it keys by session, origin and model, bounds, and
// lets expire, since a trajectory may go away without [Carrier.End].
//
// Carriers are told apart by ==; a pointer, or a struct of comparable fields, lets
// [Wrap] and [InBody] recognise one that is there already.
type Carrier interface {
	// Members returns the members of a JSON request body that carry s. It depends
	// on nothing but its arguments, so that the body is the same on every attempt;
	// t.Attempt and t.Last are zero here.
	Members(s Session, t Turn) []Member
	// Head writes onto the head of a request before each attempt. An error is
	// permanent: the request fails with a *[CarrierError] and is not sent.
	Head(a *Attempt) error
	// Observe is called exactly once after each Head that returned nil, with the
	// outcome of the attempt; if it could not be sent res is nil and err tells why.
	// It may change the header of res (a cookie carrier takes its Set-Cookie out)
	// and never reads the body.
	Observe(a *Attempt, res *http.Response, err error)
	// End is called when the trajectory is over. It tells the router, if it has a
	// way to be told, and forgets what was learned.
	End(a *Attempt) error
}

// None carries nothing. Embed it to write a [Carrier] with fewer methods.
type None struct{}

var _ Carrier = None{}

// Members returns nil.
func (None) Members(Session, Turn) []Member { return nil }

// Head does nothing.
func (None) Head(*Attempt) error { return nil }

// Observe does nothing.
func (None) Observe(*Attempt, *http.Response, error) {}

// End does nothing.
func (None) End(*Attempt) error { return nil }

// A Member is one member of a JSON request body: the value of the member that Path
// leads to from the outermost object. Value is valid JSON.
type Member struct {
	Path  []string
	Value []byte
}

// A CarrierError is a failure to write the session onto a request. The request was
// not sent, and it is of no use to try it again.
type CarrierError struct {
	Err error
}

func (e *CarrierError) Error() string { return "routing: carrier: " + e.Err.Error() }

// Unwrap returns the carrier's own error, or that of [Transport.Conflict].
func (e *CarrierError) Unwrap() error { return e.Err }

// sameCarrier compares without a panic: a type may be comparable and a value in one
// of its interface fields not be.
func sameCarrier(a, b Carrier) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) &&
		reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}
