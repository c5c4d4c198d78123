package modeltest_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/model/modeltest"
)

// A file that someone wrote or merged by hand: the error names the line.
func TestReplayOfAHostileFile(t *testing.T) {
	t.Parallel()
	const top = "homing recording 1\n"
	const one = top + "session SESSION-1\n> POST /x\n"
	for text, want := range map[string]string{
		"":                                   `:1: the file is empty`,
		"{\"a\":1}\n":                        `:1: the first line is "{\"a\":1}", want "homing recording 1"`,
		"homing recording 2\n":               `:1: the first line is "homing recording 2"`,
		top + "<<<<<<< HEAD\n":               `:2: "<<<<<<< HEAD" is no line of a recording`,
		top + "hello\n":                      `:2: "hello" is no line of a recording`,
		top + "> POST /x\n":                  `:2: a request before the first session`,
		top + "|x\n":                         `:2: a piece of a body outside of an exchange`,
		top + "< 200 OK\n":                   `:2: a response's status without a request before it`,
		top + "! canceled\n":                 `:2: "canceled" is no way in which the exchange above can end`,
		top + "<+ A: b\n":                    `:2: a trailer without a response before it`,
		top + "session\n":                    `:2: "" is no name of a session; want one such as SESSION-1`,
		top + "session a\n":                  `:2: "a" is no name of a session`,
		top + "session SESSION-1 parent x\n": `:2: "x" is no name of a session`,
		top + "session SESSION-1 of x\n":     `:2: "of" is not understood behind a session's name`,
		top + "session SESSION-1 parent\n":   `:2: "parent" is not understood behind a session's name`,
		top + "no session\nno session\n":     `:3: the session "" is there already`,
		one + "< 200\nsession SESSION-1\n":   `:5: the session "SESSION-1" is there already, further up`,
		one:                                  `:3: the exchange of line 3 has neither a response nor an end`,
		one + "+b\nsession SESSION-2\n":      `:5: the exchange of line 3 has neither a response nor an end`,
		one + "> no colon\n":                 `:4: "no colon" is no header name, colon, blank and value`,
		one + "> A B: c\n":                   `:4: "A B: c" is no header name, colon, blank and value`,
		one + "> A: \"c\n":                   `:4: "\"c" is no Go string`,
		one + "+b\n> A: b\n":                 `:5: a line of a request's header behind its body`,
		one + "\"b\n":                        `:4: the quoted piece of a body is no Go string`,
		one + "*b\n":                         `:4: a piece of a body: illegal base64`,
		one + "< abc\n":                      `:4: "abc" is no status`,
		one + "< 99\n":                       `:4: "99" is no status`,
		one + "< -20\n":                      `:4: "-20" is no status`,
		one + "< 200\n|b\n< A: b\n":          `:6: a response's status without a request before it, or a line of its header behind its body`,
		one + "! by magic\n":                 `:4: "by magic" is no way in which the exchange above can end`,
		one + "! canceled\n! canceled\n":     `:5: "canceled" is no way in which the exchange above can end`,
		top + "session SESSION-1\n> POST\n":  `:3: "POST" is no method and target`,
		one + "< 200\n|" + strings.Repeat("x", 200) + "\n": `:5: the exchange of line 3 is above the limit of 100 bytes; raise Tape.MaxBytes`,
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "tape.txt")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			messages := replaying(t, modeltest.Tape{MaxBytes: 100}, file, func(http.RoundTripper) { t.Error("the test goes on") })
			require.True(t, strings.HasPrefix(messages, "modeltest: replay "+file+want), messages)
			require.True(t, strings.HasSuffix(messages, "; correct the line, or record the file anew with HOMING_RECORD=1"), messages)
		})
	}
	dir := t.TempDir()
	require.Contains(t, replaying(t, modeltest.Tape{}, dir, func(http.RoundTripper) {}), "modeltest: replay read "+dir+": ")
}

// What a person adds is no part of it: comments, empty lines, other line breaks.
func TestReplayOfAnEditedFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tape.txt")
	require.NoError(t, os.WriteFile(file, []byte("\ufeffhoming recording 1\n# a note\nno session\n\n> POST /v1\n# another\n+{\"a\"\n\n+:1}\n< 200\n|answer"), 0o600))
	require.Empty(t, replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) {
		res, text, err := get(t.Context(), transport, nowhere, `{"a":1}`)
		require.NoError(t, err)
		require.Equal(t, "answer\n", text)
		require.EqualValues(t, 7, res.ContentLength)
	}))
}
