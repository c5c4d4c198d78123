package routing

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// ID is the routing identity of one trajectory. It is opaque: nothing may be read
// from it, and it is never cut. IDs made here are 32 lower-case hex digits, which
// every known router takes. The zero ID means no session.
type ID string

// maxID is the longest ID in bytes.
const maxID = 255

// Name spaces of the derived IDs. Children have their own, so that no list of parts
// can ever be mistaken for a parent and a name.
var (
	deriveSpace = uuid.MustParse("6f6d6c1e-3b52-5d0c-9f3e-0d7c2f3a9b10")
	childSpace  = uuid.MustParse("b2b0a8c4-7c55-5a4f-8a1d-5e9f4c6d2e71")
)

// NewID returns a random ID.
func NewID() ID {
	return fromUUID(uuid.New())
}

// Derive returns the ID of parts: the same parts give the same ID on every machine,
// other parts another one. No parts, and parts that are all empty, give the zero ID.
//
// It is the UUID version 5 (RFC 9562) in the name space
// 6f6d6c1e-3b52-5d0c-9f3e-0d7c2f3a9b10 of the parts, each written as its length in
// bytes in decimal digits, a colon, and its bytes; without dashes:
//
//	Derive("a", "bc")                                  5cb066d846d85e7ebc563088cdd51c0f
//	Derive("ab", "c")                                  da23bc05197b5a8999adf82101452a04
//	Derive("run-1", "django__django-16899", "1")       daabb0f14dd5540dafebdc195037eb74
//	Derive("", "x")                                    5d6496eb7997528f8e86c9d82ce60d1d
//	Derive("gr\u00f6\u00dfe \u6f22\u5b57")             709de6d962a8540ab6f7ae68974c1813
//
// The name of the first one is the seven bytes 1:a2:bc.
func Derive(parts ...string) ID {
	var name []byte
	empty := true
	for _, p := range parts {
		name = appendPart(name, p)
		empty = empty && p == ""
	}
	if empty {
		return ""
	}
	return fromUUID(uuid.NewSHA1(deriveSpace, name))
}

// ParseID takes an ID that the caller made: 1 to 255 bytes of visible ASCII. The
// error is an *[IDError].
func ParseID(s string) (ID, error) {
	id := ID(s)
	if err := id.check(); err != nil {
		return "", err
	}
	return id, nil
}

// UnmarshalText is [ParseID], for JSON and other encodings. The empty text is the
// zero ID, so that every Session comes back as it was written.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ""
		return nil
	}
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

func (id ID) check() error {
	if fault := id.fault(); fault != "" {
		return &IDError{Reason: fault}
	}
	return nil
}

// fault tells why id cannot travel; "" if it can.
func (id ID) fault() string {
	switch {
	case id == "":
		return "it is empty; use NewID or Derive"
	case len(id) > maxID:
		return fmt.Sprintf("it has %d bytes, the limit is %d; use Derive for long names", len(id), maxID)
	}
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c > '~' {
			return fmt.Sprintf("byte %d is 0x%02x, only visible ASCII can travel; use Derive for other text", i, c)
		}
	}
	return ""
}

// An IDError tells why an ID cannot travel. It does not show the ID, which is not
// for logs.
type IDError struct {
	Reason string
}

func (e *IDError) Error() string { return "routing: unusable session ID: " + e.Reason }

func appendPart(dst []byte, part string) []byte {
	dst = strconv.AppendInt(dst, int64(len(part)), 10)
	dst = append(dst, ':')
	return append(dst, part...)
}

func fromUUID(u uuid.UUID) ID {
	var digits [32]byte
	hex.Encode(digits[:], u[:])
	return ID(digits[:])
}
