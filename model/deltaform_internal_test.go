package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/stretchr/testify/require"
)

var deltaSamples = []string{
	`{"content":"a"}`, `{"content":"b"}`, `{"content":"c\"\n"}`, `{"content":""}`, `{"content":"content"}`, `{"role":"assistant","content":"a"}`,
	`{"content":"a","reasoning_content":null}`, `{"content":"a","reasoning_content":"r"}`, `{"reasoning_content":"r"}`, `{"reasoning_content":"s"}`,
	`{"reasoning":"r"}`, `{"reasoning":"t","reasoning_content":"t"}`, `{"content":"a","content":"b"}`, `{"content":[{"type":"text","text":"p"}]}`,
	`{"content":[{"type":"text","text":"p"},{"text":"q"}]}`, `{}`, `{"content":null}`, `{"content":"\ud83d"}`, `{"content":"\ude00"}`, "{\"content\":\"\xff\"}",
	`{"content":"}]}"}`, `{"content":","}`, `{"content":"a","x":"content"}`,
	`{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\""}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":":1"}}]}`,
	`{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}`, `{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`, `{"tool_calls":[{"index":1,"id":"2","function":{"name":"g","arguments":"{"}}]}`,
	`{"tool_calls":[{"index":0,"id":"3","function":{"name":"h","arguments":"{}"}}]}`, `{"tool_calls":[{"index":0,"id":"1","function":{"arguments":"x"}}]}`,
	`{"tool_calls":[{"function":{"arguments":"y"}}]}`, `{"tool_calls":[{"function":{"name":"k","arguments":"{}"}}]}`, `{"tool_calls":[{"function":{"name":"k","arguments":"{"}}]}`,
	`{"tool_calls":[{"id":"2","function":{"name":"k","arguments":"{}"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":{"a":1}}}]}`,
	`{"tool_calls":[{"index":0,"function":{"arguments":"l"}},{"index":1,"function":{"arguments":"m"}}]}`, `{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":"n"}}]}`,
	`{"content":"a","tool_calls":[{"index":0,"function":{"arguments":"o"}}]}`, `{"tool_calls":null,"content":"a"}`, `{"content":"a"} `,
}

// readAlike reads the deltas by a reader that may know them by their form, and by one that
// reads each of them; both must tell the same.
func readAlike(t *testing.T, deltas []string) {
	t.Helper()
	tell := func(forget bool) string {
		var told strings.Builder
		r := new(reader)
		for _, d := range deltas {
			if rawjson.Valid([]byte(d)) != nil {
				continue
			}
			if forget {
				r.form.begin()
			}
			err := r.Delta([]byte(d), func(e Event) bool { fmt.Fprintf(&told, "%+v\n", e); return true })
			fmt.Fprintln(&told, err)
		}
		res, err := r.Finish("stop", true)
		fmt.Fprintf(&told, "%s %v", res.Message.JSON(), err)
		return told.String()
	}
	require.Equal(t, tell(true), tell(false), "%q", deltas)
}

// A delta that is known by its form says what it would if it were read.
func TestDeltaForms(t *testing.T) {
	t.Parallel()
	for _, a := range deltaSamples {
		for _, b := range deltaSamples {
			readAlike(t, []string{a, b, a, a})
			for _, c := range deltaSamples {
				readAlike(t, []string{a, b, c, b})
			}
		}
	}
	var form deltaForm
	r := new(reader)
	require.NoError(t, r.Delta([]byte(deltaSamples[0]), func(Event) bool { return true }))
	require.True(t, r.again([]byte(deltaSamples[2]), func(e Event) bool { return e.Text == "c\"\n" }))
	for _, other := range []string{`{"content":"a`, `{"content":"}`, `{"content":""}`, `{"content":"a"x"}`, `{"content":"\x"}`, "{\"content\":\"\n\"}", `{"content":"a" }`, ``} {
		require.False(t, r.again([]byte(other), func(Event) bool { return true }), other)
	}
	require.False(t, form.take([]byte(deltaSamples[0]), nil), "no form was learned")
}

// FuzzDeltaForms reads any deltas with and without their form.
func FuzzDeltaForms(f *testing.F) {
	for i, a := range deltaSamples {
		f.Add(a, deltaSamples[(i*7+1)%len(deltaSamples)], "a\\n", uint8(i))
	}
	f.Fuzz(func(t *testing.T, a, b, text string, order uint8) {
		c := strings.Replace(a, `:"a"`, `:"`+text+`"`, 1)
		of := []string{a, b, c}
		var deltas []string
		for range 5 {
			deltas = append(deltas, of[order%3])
			order /= 3
		}
		readAlike(t, append(deltas, c, a))
	})
}
