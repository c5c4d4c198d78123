package phase

import (
	"net/url"
	"slices"
	"strings"
)

// keyName is the variable in which OpenAI clients look for their key.
const keyName = "OPENAI_API_KEY"

// AgentEnv is the environment of the agents: environ, which is that of the service, with
// the loopback and the endpoint's host excepted from any proxy, and with no other key than
// that of EndpointKey. Variables named in hide are left out.
func AgentEnv(environ []string, endpoint, key string, hide ...string) []string {
	host := hostname(endpoint)
	noProxy := lookup(environ, "NO_PROXY")
	if noProxy == "" {
		noProxy = lookup(environ, "no_proxy")
	}
	list := union("127.0.0.1,localhost," + host + "," + noProxy)
	env := without(environ, append(slices.Clone(hide), keyName, "NO_PROXY", "no_proxy")...)
	env = append(env, "NO_PROXY="+list, "no_proxy="+list)
	if key = EndpointKey(endpoint, key); key != "" {
		env = append(env, keyName+"="+key)
	}
	return env
}

// EndpointKey is the key with which agents ask an endpoint: the run's own, and without one
// EMPTY on the loopback, where servers without keys are, and none elsewhere.
func EndpointKey(endpoint, key string) string {
	if key == "" && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, hostname(endpoint)) {
		return "EMPTY"
	}
	return key
}

// EvalEnv is the environment of the evaluation, which calls no endpoint: environ without a
// key and without the variables named in hide.
func EvalEnv(environ []string, hide ...string) []string {
	return without(environ, append(slices.Clone(hide), keyName)...)
}

// EndpointBase is the address of an OpenAI-compatible endpoint as agents use it: host in
// lower case, localhost as 127.0.0.1, without credentials, query, fragment and slashes at
// the end, and with exactly one /v1.
func EndpointBase(endpoint string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(endpoint))
	if err != nil {
		return "", err.(*url.Error).Err //nolint:errorlint // its own text shows the URL, which may hold a key
	}
	host := strings.ToLower(u.Hostname())
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	path, _, _ := strings.Cut(u.EscapedPath(), ";")
	path = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(path, "/"), "/v1"), "/")
	return strings.ToLower(u.Scheme) + "://" + host + path + "/v1", nil
}

func hostname(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// union is the sorted list of the different members of a list with commas.
func union(list string) string {
	parts := strings.Split(list, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	slices.Sort(parts)
	return strings.Trim(strings.Join(slices.Compact(parts), ","), ",")
}

func lookup(environ []string, name string) string {
	value := ""
	for _, entry := range environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

func without(environ []string, names ...string) []string {
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains(names, name) {
			kept = append(kept, entry)
		}
	}
	return kept
}
