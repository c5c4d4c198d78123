package routing

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// SetCookie adds a cookie unless the request has one of that name, and reports
// whether it did. The value is sent exactly as it is, without quotes of net/http's;
// an empty one sets nothing, and one that a cookie cannot hold fails the request with
// a *[CarrierError]. It works in [Carrier.Head] only.
func (a *Attempt) SetCookie(name, value string) bool {
	if a.header == nil || value == "" {
		return false
	}
	if err := checkCookie(name, value); err != nil {
		a.refuse(err)
		return false
	}
	if slices.Contains(a.cookies, name) {
		return false // another carrier was first
	}
	pairs := cookiePairs(a.header)
	kept := pairs[:0]
	for _, pair := range pairs {
		switch n, v, _ := strings.Cut(pair, "="); {
		case n != name:
			kept = append(kept, pair)
		case v == value || !a.override("Cookie"):
			return false
		}
	}
	for present := range a.header {
		if strings.EqualFold(present, "Cookie") {
			delete(a.header, present)
		}
	}
	a.header["Cookie"] = []string{strings.Join(append(kept, name+"="+value), "; ")}
	a.names |= nameBit("Cookie")
	a.cookies = append(a.cookies, name)
	return true
}

// cookiePairs returns the cookies of all Cookie lines. http.Request.AddCookie keeps
// only the first line, and one spelling of the name.
func cookiePairs(h http.Header) []string {
	var pairs []string
	for present, lines := range h {
		if !strings.EqualFold(present, "Cookie") {
			continue
		}
		for _, line := range lines {
			for pair := range strings.SplitSeq(line, ";") {
				if pair = strings.TrimSpace(pair); pair != "" {
					pairs = append(pairs, pair)
				}
			}
		}
	}
	return pairs
}

// checkCookie refuses what would end the cookie early. net/http drops such bytes
// instead, which would give two sessions one cookie.
func checkCookie(name, value string) error {
	if !isTokenString(name) {
		return fmt.Errorf("cookie name %q is not an RFC 6265 token", name[:min(len(name), maxHeaderName)])
	}
	i := badByte(value)
	if i < 0 {
		i = strings.IndexByte(value, ';')
	}
	if i >= 0 {
		return fmt.Errorf("byte %d of the value of cookie %s is 0x%02x, which a cookie cannot hold", i, name, value[i])
	}
	return nil
}
