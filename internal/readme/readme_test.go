package readme_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every snippet of the README is a part of this package, line for line, and so compiled
// and run.
func TestSnippetsAreCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	code, err := os.ReadFile("snippets_test.go")
	require.NoError(t, err)
	regions := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)\t// readme:begin ([^\n]+)\n(.*?)\t// readme:end`).FindAllStringSubmatch(string(code), -1) {
		regions[m[1]] = strings.ReplaceAll(strings.TrimPrefix(m[2], "\t"), "\n\t", "\n")
	}
	blocks := regexp.MustCompile("(?s)<!-- snippet: ([^\n]+) -->\n```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, strings.Count(string(text), "```go"), "a snippet without its name in a comment before it")
	require.Len(t, blocks, len(regions))
	for _, m := range blocks {
		require.Equal(t, regions[m[1]], m[2], "snippet %q", m[1])
	}
}

// The commands that the README names are the ones that CI runs.
func TestCommandsAreRun(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	ci, err := os.ReadFile("../../.ci/run")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, blocks)
	for _, m := range blocks {
		for line := range strings.Lines(m[1]) {
			command, _, _ := strings.Cut(strings.TrimSpace(line), "  #")
			require.Contains(t, string(ci), strings.TrimSpace(command))
		}
	}
}

// The flags with which the README and the runbook start the examples are theirs.
func TestFlagsAreKnown(t *testing.T) {
	t.Parallel()
	command, flag := regexp.MustCompile(`go run \./examples/(\S+)((?:\\\n|[^\n])*)`), regexp.MustCompile(`\s-([a-z][a-z-]*)`)
	checked := 0
	for _, page := range []string{"../../README.md", "../../swebench/service/README.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			code, err := os.ReadFile("../../examples/" + strings.Trim(m[1], "`.,;)") + "/main.go")
			require.NoError(t, err, m[0])
			arguments, _, _ := strings.Cut(m[2], "`")
			for _, f := range flag.FindAllStringSubmatch(arguments, -1) {
				require.Contains(t, string(code), `"`+f[1]+`"`, m[0])
				checked++
			}
		}
	}
	require.Greater(t, checked, 15)
}
