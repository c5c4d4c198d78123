package rawjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/stretchr/testify/require"
)

var samples = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0`, `1.5e+10`, `"a"`, ` {"a" : [1, 2 ,{"b":null}] } `,
	`"\u00e9\ud83d\ude00\n\"\\\/"`, `"\ud83d"`, `"\ud83dx"`, "\"\xff\xfe\"", `{"a":1,"a":2}`, `"<>&"`,
	``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `[1,]`, `[`, `"`, `"\`, `"\u12`, `"\x"`,
	`01`, `-`, `1.`, `.5`, `1e`, `tru`, `nul`, `truex`, `{"a" 1}`, `{a:1}`, "\"\n\"", `1 2`, `{} x`, `[1 2]`,
	strings.Repeat("[", 10000) + strings.Repeat("]", 10000),
	strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
}

// The scanner and encoding/json accept the same documents and read the same text.
func checkAgainstStdlib(t *testing.T, data []byte) {
	t.Helper()
	err := rawjson.Valid(data)
	require.Equal(t, json.Valid(data), err == nil, "%q: %v", data, err)
	if err != nil {
		return
	}
	value, err := rawjson.Only(data)
	require.NoError(t, err)
	switch rawjson.Kind(value) {
	case '"':
		var want string
		require.NoError(t, json.Unmarshal(data, &want))
		require.Equal(t, want, rawjson.Text(value))
	case '{':
		var want map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(data, &want))
		got := map[string]json.RawMessage{}
		o := rawjson.Members(data)
		for o.Next() {
			got[rawjson.Text(rawjson.AppendQuoted(nil, o.Key))] = o.Value
		}
		require.NoError(t, o.Err)
		require.Equal(t, want, got)
	case '[':
		var want []json.RawMessage
		require.NoError(t, json.Unmarshal(data, &want))
		got := []json.RawMessage{}
		a := rawjson.Elements(data)
		for a.Next() {
			got = append(got, a.Value)
		}
		require.NoError(t, a.Err)
		require.Equal(t, want, got)
	}
}

func TestAgainstStdlib(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		checkAgainstStdlib(t, []byte(s))
	}
}

func TestEndIsToldFromError(t *testing.T) {
	t.Parallel()
	whole := `{"a":[1,"x\u00e9",true,{"b":null}]}`
	for i := range len(whole) {
		require.True(t, rawjson.IsEnd(rawjson.Valid([]byte(whole[:i]))), "%q", whole[:i])
	}
	require.False(t, rawjson.IsEnd(rawjson.Valid([]byte(`{"a":1]`))))
}

func TestQuotedRoundTrip(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "a\"b\\c\n\r\t\x00\x1f", "<&>", "é😀\u2028", "\xff"} {
		quoted := rawjson.AppendQuoted(nil, s)
		var got string
		require.NoError(t, json.Unmarshal(quoted, &got))
		require.Equal(t, strings.ToValidUTF8(s, "\ufffd"), got)
	}
	require.Equal(t, `"<&>"`, string(rawjson.AppendQuoted(nil, "<&>")))
}

func FuzzAgainstStdlib(f *testing.F) {
	for _, s := range samples[:len(samples)-2] {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkAgainstStdlib(t, data) })
}

func FuzzQuoted(f *testing.F) {
	f.Add("a\"b\xffé")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		require.NoError(t, json.Unmarshal(rawjson.AppendQuoted(nil, s), &got))
		require.Equal(t, string([]rune(s)), got)
		quoted := rawjson.AppendQuoted(nil, s)
		require.Equal(t, string(quoted), string(rawjson.AppendQuoted(nil, []byte(s))))
		if utf8.ValidString(s) {
			require.Len(t, quoted, rawjson.QuotedLen(s))
		} else {
			require.LessOrEqual(t, len(quoted), rawjson.QuotedLen(s))
		}
	})
}
