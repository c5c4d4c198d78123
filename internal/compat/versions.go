package compat

import (
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// versions asks go for the versions of the peers' modules in this build. The build
// info of a test binary does not have them.
func versions(t *testing.T, peers []Peer) map[string]string {
	args := []string{"list", "-m", "-f", "{{.Path}} {{.Version}}"}
	for _, p := range peers {
		args = append(args, p.Module)
		if p.Over != "" {
			args = append(args, p.Over)
		}
	}
	out, err := exec.Command("go", args...).Output()
	require.NoError(t, err)
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		require.NotEmpty(t, version, name)
		found[name] = version
	}
	return found
}

var major = regexp.MustCompile(`/v[0-9]+$`)

// short is the name by which a module is known.
func short(module string) string { return path.Base(major.ReplaceAllString(module, "")) }
