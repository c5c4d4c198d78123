package modeltest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

const (
	redacted    = "REDACTED"
	placeholder = "SESSION-"
	// commonSecret is the length below which a secret may be any word, and
	// commonLetters that of one made of letters only: it is taken out where it is known
	// to be one, and not from other texts.
	commonSecret  = 8
	commonLetters = 16
)

// A scrubber takes secrets out of exchanges. It is not changed when it is made.
type scrubber struct {
	headers map[string]bool // to be recorded, in lower case
	secrets map[string]bool
	members *regexp.Regexp
	custom  func(string) string
}

func newScrubber(c Tape) *scrubber {
	s := &scrubber{headers: map[string]bool{"content-type": true}, secrets: map[string]bool{}, custom: c.Scrub}
	for _, name := range c.Headers {
		s.headers[strings.ToLower(name)] = true
	}
	members := []string{"access_token", "refresh_token", "id_token", "api_key", "apikey", "client_secret"}
	for _, name := range c.Secrets {
		s.secrets[strings.ToLower(name)] = true
		members = append(members, regexp.QuoteMeta(name))
	}
	s.members = regexp.MustCompile(`(?i)("(?:` + strings.Join(members, "|") + `)"\s*:\s*)"(?:[^"\\]|\\.)*"`)
	return s
}

// isSecret tells by the name of a header or of a query parameter.
func (s *scrubber) isSecret(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch name {
	case "openai-organization", "openai-project", "anthropic-organization-id": // accounts
		return true
	}
	if s.secrets[name] || s.secrets[strings.ReplaceAll(name, "-", "_")] || strings.Contains(name, "api-key") || strings.Contains(name, "access-key") {
		return true
	}
	return slices.ContainsFunc(strings.Split(name, "-"), func(word string) bool {
		switch word {
		case "authorization", "auth", "token", "secret", "password", "cookie", "cookie2", "apikey", "credential", "credentials", "signature", "jwt":
			return true
		}
		return false
	})
}

func (s *scrubber) isSecretParameter(name string) bool {
	return s.isSecret(name) || strings.EqualFold(name, "key") || strings.EqualFold(name, "sig")
}

// keyForm is the form of the API keys and tokens of well-known providers.
var keyForm = regexp.MustCompile(`\b(?:(?:sk|pk|rk|gsk|xai|nvapi|hf|gh[oprsu]|github_pat|glpat|xox[abp])[-_][A-Za-z0-9_-]{16,}` +
	`|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)|(?i:\bbearer) [A-Za-z0-9._~+/-]{16,}=*`)

// text takes out secrets that have been seen, and what looks like one.
func (s *scrubber) text(text string, seen []string) string {
	for _, secret := range seen {
		text = replaceWords(text, secret, redacted)
	}
	text = s.members.ReplaceAllString(text, `${1}"`+redacted+`"`)
	text = keyForm.ReplaceAllStringFunc(text, func(key string) string {
		if !strings.ContainsAny(key, "0123456789") { // words with dashes between them
			return key
		}
		return redacted
	})
	if s.custom != nil {
		text = s.custom(text)
	}
	return text
}

// replaceWords replaces what has no letter or digit around it.
func replaceWords(text, old, word string) string {
	var b strings.Builder
	start := 0
	for i := 0; ; {
		at := strings.Index(text[i:], old)
		if at < 0 {
			b.WriteString(text[start:])
			return b.String()
		}
		at, i = i+at, i+at+len(old)
		if (at == 0 || !isAlphanumeric(text[at-1])) && (i == len(text) || !isAlphanumeric(text[i])) {
			b.WriteString(text[start:at])
			b.WriteString(word)
			start = i
		}
	}
}

// target takes secrets out of path and query, without a change to the rest.
func (s *scrubber) target(target string, ids, seen []string) string {
	path, query, ok := strings.Cut(target, "?")
	if ok {
		list := strings.Split(query, "&")
		for i, parameter := range list {
			if name, v, _ := strings.Cut(parameter, "="); s.isSecretParameter(name) && v != "" && !slices.Contains(ids, v) {
				list[i] = name + "=" + redacted
			}
		}
		path += "?" + strings.Join(list, "&")
	}
	return s.text(path, seen)
}

// value takes secrets out of the value of a header.
func (s *scrubber) value(name, v string, ids, seen []string) string {
	switch {
	case slices.Contains(ids, v): // whatever the name: the session, not a secret
		return v
	case strings.EqualFold(name, "Cookie"):
		return scrubCookies(strings.Split(v, ";"), ids)
	case strings.EqualFold(name, "Set-Cookie"):
		pair, attributes, _ := strings.Cut(v, ";")
		kept := []string{scrubCookies([]string{pair}, ids)}
		for attribute := range strings.SplitSeq(attributes, ";") {
			// A date would differ in each run, and end the cookie in a later replay.
			if attribute = strings.TrimSpace(attribute); attribute != "" && !strings.HasPrefix(strings.ToLower(attribute), "expires=") {
				kept = append(kept, attribute)
			}
		}
		return strings.Join(kept, "; ")
	case s.isSecret(name):
		if scheme, _, ok := strings.Cut(v, " "); ok && strings.Contains(strings.ToLower(name), "authorization") {
			return scheme + " " + redacted
		}
		return redacted
	}
	return s.text(v, seen)
}

// scrubCookies keeps the names, and the values that are a session's.
func scrubCookies(pairs, ids []string) string {
	for i, pair := range pairs {
		name, v, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if !slices.Contains(ids, v) {
			v = redacted
		}
		pairs[i] = name + "=" + v
	}
	return strings.Join(pairs, "; ")
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// seenIn collects the secrets of a header, to take them out of texts too.
func (s *scrubber) seenIn(h http.Header, target string, ids []string) []string {
	var seen []string
	add := func(secret string) {
		secret = strings.TrimSpace(secret)
		if len(secret) < commonSecret || slices.Contains(ids, secret) || len(secret) < commonLetters && strings.Trim(secret, letters) == "" {
			return
		}
		seen = append(seen, secret)
	}
	for name, values := range h {
		for _, v := range values {
			switch {
			case strings.EqualFold(name, "Cookie"):
				for pair := range strings.SplitSeq(v, ";") {
					_, v, _ := strings.Cut(pair, "=")
					add(v)
				}
			case strings.EqualFold(name, "Set-Cookie"):
				pair, _, _ := strings.Cut(v, ";")
				_, v, _ := strings.Cut(pair, "=")
				add(v)
			case s.isSecret(name):
				if _, rest, ok := strings.Cut(v, " "); ok {
					v = rest
				}
				add(v)
			}
		}
	}
	_, query, _ := strings.Cut(target, "?")
	for parameter := range strings.SplitSeq(query, "&") {
		if name, v, _ := strings.Cut(parameter, "="); s.isSecretParameter(name) {
			add(v)
		}
	}
	return seen
}
