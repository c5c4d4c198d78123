package routing

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What mergeMembers returns is JSON in which the member has the value that it should
// have and every other one is as it was, byte by byte; doing it again changes nothing.
func FuzzMergeMembers(f *testing.F) {
	for _, body := range []string{
		`{}`, ` {"a":1}` + "\n", `{"a":{"b":null},"c":[1,2.0,"<\u00e9>"]}`, `{"a":null}`, `{"a":"x"}`, `{"a":{}}`, `{"a":1,"a":{"b":2}}`,
		`{"\u0061":1}`, `{"":{"":0}}`, `[]`, `null`, `{"a"`, ``, `{"a":{"b":{"c":"d"}}}`, "{\"\xff\":1}", `{"a":1,}`,
	} {
		f.Add([]byte(body), "a", []byte(`"id"`), true)
		f.Add([]byte(body), "a.b", []byte(`{"x":[ ]}`), false)
		f.Add([]byte(body), ".", []byte(` null `), false)
		f.Add([]byte(body), "a", []byte("0 "), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, path string, value []byte, replace bool) {
		before := string(body)
		member := Member{Path: strings.Split(path, "."), Value: value}
		merged, own, err := mergeMembers(body, []Member{member}, replace)
		require.Equal(t, before, string(body), "the input is the caller's")
		var old map[string]json.RawMessage
		_, unsound := member.check()
		if json.Unmarshal(body, &old) != nil || old == nil || unsound != nil {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		var now map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(merged, &now), "%s", merged)

		top := member.Path[0]
		for name, text := range old {
			if name != top {
				require.Equal(t, string(text), string(now[name]))
			}
		}
		require.Contains(t, now, top)
		_, there := old[top]
		want := len(old)
		if !there {
			want++
		}
		require.Len(t, now, want)

		got, ok := lookup(now, member.Path)
		switch {
		case own:
			require.False(t, replace)
			require.Equal(t, before, string(merged))
		case string(old[top]) == string(now[top]): // it was there
			require.Equal(t, before, string(merged))
		default:
			require.True(t, ok)
			require.Equal(t, strings.Trim(string(value), " \t\r\n"), string(got))
		}
		again, _, err := mergeMembers(merged, []Member{member}, replace)
		require.NoError(t, err)
		if strings.TrimSpace(string(value)) != "null" { // which counts as not there
			require.Equal(t, string(merged), string(again))
		}
	})
}

func lookup(object map[string]json.RawMessage, path []string) (json.RawMessage, bool) {
	value, ok := object[path[0]]
	if !ok || len(path) == 1 {
		return value, ok
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(value, &inner) != nil {
		return nil, false
	}
	return lookup(inner, path[1:])
}

func TestMergeSeveralMembers(t *testing.T) {
	t.Parallel()
	members := []Member{
		{Path: []string{"x", "program_id"}, Value: []byte(`"p"`)},
		{Path: []string{"x", "depth"}, Value: []byte(`2`)},
		{Path: []string{"user"}, Value: []byte(`{"a":[]}`)},
	}
	merged, own, err := mergeMembers([]byte(`{"m":[],"x":{"depth":1}}`), members, false)
	require.NoError(t, err)
	require.True(t, own)
	require.Equal(t, `{"m":[],"x":{"depth":1,"program_id":"p"},"user":{"a":[]}}`, string(merged))

	merged, own, err = mergeMembers([]byte(`{"m":[],"x":{"depth":1}}`), members, true)
	require.NoError(t, err)
	require.False(t, own)
	require.Equal(t, `{"m":[],"x":{"depth":2,"program_id":"p"},"user":{"a":[]}}`, string(merged))
}
