package compat

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the rows of this module into the README")

// order is that of the table's rows, by name and way. Each module knows the rows of
// the others by it.
var order = []string{
	"openai-go Middleware",
	"openai-go Wrap",
	"go-openai Wrap",
	"anthropic-sdk-go Middleware",
	"anthropic-sdk-go Wrap",
	"langchaingo Wrap",
	"eino-ext openai Wrap",
	"eino-ext qwen Wrap",
	"fantasy model Wrap",
	"fantasy agent Wrap",
	"genkit compat_oai Middleware",
	"genkit compat_oai Wrap",
	"adk-go openaimodel Wrap",
}

// row is a line of the table.
type row struct {
	Name, Version, By        string
	Plain, Streamed, Retried Outcome
	Note                     string
}

func (r row) key() string { return r.Name + " " + r.By }

func (r row) String() string {
	return "| " + strings.Join([]string{r.Name, r.Version, "`" + r.By + "`", string(r.Plain), string(r.Streamed), string(r.Retried), r.Note}, " | ") + " |"
}

const (
	begin = "<!-- compat:begin -->\n"
	end   = "<!-- compat:end -->\n"
	head  = "| peer | version | made aware by | plain | streamed | retried | note |\n| --- | --- | --- | --- | --- | --- | --- |\n"
)

// compare holds rows against those in the README. Rows of other modules stay as they
// are there, but each must be one that is expected.
func compare(t *testing.T, rows []row) {
	file := readme(t)
	text, err := os.ReadFile(file) //nolint:gosec // a text of the repository
	require.NoError(t, err)
	before, rest, ok1 := strings.Cut(string(text), begin)
	block, after, ok2 := strings.Cut(rest, end)
	require.True(t, ok1 && ok2, "the README has no block between %q and %q", begin, end)

	want, err := merge(block, rows, *update) // the other modules write theirs
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+want+end+after), 0o644)) //nolint:gosec // a text of the repository
		return
	}
	require.Equal(t, want, block, "the README is out of date; go test -update . writes it")
}

// merge returns block with rows in it. Rows that are in neither are missed, unless the
// table is a partial one.
func merge(block string, rows []row, partial bool) (string, error) {
	lines := map[string]string{}
	for line := range strings.Lines(block) {
		if cells := strings.Split(line, "|"); len(cells) == 9 {
			lines[strings.TrimSpace(cells[1])+" "+strings.Trim(cells[3], " `")] = line
		}
	}
	for _, r := range rows {
		if r.Name == "" { // not run, as -run wants it
			continue
		}
		if !slices.Contains(order, r.key()) {
			return "", fmt.Errorf("the order of the table does not name %s", r.key())
		}
		lines[r.key()] = r.String() + "\n"
	}
	var b strings.Builder
	b.WriteString(head)
	for _, key := range order {
		if lines[key] == "" && !partial {
			return "", fmt.Errorf("the table has no row for %s", key)
		}
		b.WriteString(lines[key])
	}
	for _, name := range slices.Sorted(maps.Keys(leftOut)) {
		b.WriteString(row{Name: name, Note: "left out: " + leftOut[name]}.String() + "\n")
	}
	return b.String(), nil
}

// readme is the path of the project's, which is above all modules.
func readme(t *testing.T) string {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/homing-go/homing").Output()
	require.NoError(t, err)
	return filepath.Join(strings.TrimSpace(string(out)), "README.md")
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}
