package modeltest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A changed message is a changed line.
func TestRecordedPieces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{"messages":[{"a":"\\\",["},{"b":[1,2]}],"n":1}`: {`{"messages":[`, `{"a":"\\\",["},`, `{"b":[1,2]}],`, `"n":1}`},
		`[1,[2,3],{"a":4,"b":5},[]]`:                      {`[1,`, `[`, `2,`, `3],`, `{"a":4,"b":5},`, `[]]`},
		`{"a":{"b":1,"c":2}, "d":3}`:                      {`{"a":{"b":1,"c":2},`, ` "d":3}`},
		`{"a":1,`:                                         {`{"a":1,`},
		`"a,[b"`:                                          {`"a,[b"`},
		`[1,2] x`:                                         {`[1,2] x`},
	} {
		require.Equal(t, want, jsonPieces(text))
	}
}

// Whatever the bytes of an exchange are, the file gives them back, and is the same
// when it is written again.
func FuzzReplayFile(f *testing.F) {
	f.Add("/x", "v", `{"a":[1,{"b":2},"\"]"],"c":{}}`, "data: 1\r\n\r\ndata: [DONE]\n\n", "200 OK")
	f.Add("/ \n", "\"v ", "\x00\xff", "a\n\nb \n\t\n\ufeff\ufffd", "404")
	f.Add("\"", "", " ", strings.Repeat("é", 100), "599 Status \x7f")
	f.Fuzz(func(t *testing.T, target, value, body, text, status string) {
		if len(status) < 3 || strings.Trim(status[:3], "123456789") != "" || len(status) > 3 && status[3] != ' ' {
			status = "200 " + status
		}
		fields := []field{{"A", value}}
		list := []*track{
			{id: "SESSION-1", root: "SESSION-1", entries: []*entry{{method: "POST", target: target, header: fields, body: body, status: status, answer: fields, text: text, trailer: fields, end: cut}}},
			{entries: []*entry{{method: "GET", target: target, end: canceled}, {method: "GET", target: target, body: text, status: status, text: body}}},
		}
		file := string(encodeTape(list))
		require.NotContains(t, file, "\r")
		require.NotContains(t, file, " \n")
		got, line, err := parseTape(file, len(body)+len(text))
		require.NoError(t, err, "line %d of\n%s", line, file)
		for _, t := range got {
			for _, e := range t.entries {
				e.line = 0
			}
		}
		require.Equal(t, list, got)
		require.Equal(t, file, string(encodeTape(got)))
	})
}

// A file from anywhere is read or refused, and what is read can be written.
func FuzzReplayOfAnyFile(f *testing.F) {
	f.Add("session SESSION-1 parent SESSION-2\n> POST /x\n> A: b\n+{}\n< 200 OK\n< A: b\n|x\n<+ A: b\n! cut by its reader\nno session\n> GET /\n! canceled\n")
	f.Add("session SESSION-1\n> \"\n*AA==\n\"\\xff\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, line, err := parseTape(tapeTitle+"\n"+text, 1<<20)
		if err != nil {
			require.Positive(t, line)
			return
		}
		again, line, err := parseTape(string(encodeTape(got)), 1<<20)
		require.NoError(t, err, "line %d", line)
		require.Len(t, again, len(got))
	})
}
