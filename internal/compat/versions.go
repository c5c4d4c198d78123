package compat

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// version is that of a module in this build. With a replace it is not the one that
// the modules of the build ask for.
type version struct{ used, asked string }

// versions asks go for those of the peers' modules. The build info of a test binary
// does not have them.
func versions(t *testing.T, peers []Peer) map[string]version {
	args := []string{"list", "-m", "-f", "{{.Path}} {{.Version}} {{with .Replace}}{{.Version}}{{end}}"}
	for _, p := range peers {
		args = append(args, p.Module)
		if p.Over != "" {
			args = append(args, p.Over)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	require.NoError(t, err)
	found := map[string]version{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line) // the last one is there only with a replace
		require.GreaterOrEqual(t, len(words), 2, line)
		found[words[0]] = version{used: words[len(words)-1], asked: words[1]}
	}
	return found
}

// over says which client a peer is made of.
func (p Peer) over(versions map[string]version) string {
	v := versions[p.Over]
	if v.used != v.asked {
		return "needs a `replace` of " + short(p.Over) + " to " + v.used + ": does not build with " + v.asked + ", which homing asks for"
	}
	return "over " + short(p.Over) + " " + v.used
}

var major = regexp.MustCompile(`/v[0-9]+$`)

// short is a module's path without its host and major version.
func short(module string) string {
	_, name, _ := strings.Cut(major.ReplaceAllString(module, ""), "/")
	return name
}
