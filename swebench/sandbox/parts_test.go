package sandbox

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

func TestKeeperKeepsHeadAndTailInAnyPieces(t *testing.T) {
	t.Parallel()
	var text []byte
	for i := range 1000 {
		text = append(text, byte('a'+i%26))
	}
	for _, total := range []int{0, 1, 9, 10, 11, 19, 20, 21, 39, 40, 41, 61, 1000} {
		for _, piece := range []int{1, 3, 10, 11, 20, 21, 999} {
			k := &keeper{half: 10, flood: &flood{left: 1 << 20}}
			for part := range slices.Chunk(text[:total], piece) {
				_, _ = k.Write(part)
			}
			p := k.printed()
			if total <= 20 {
				require.Equal(t, string(text[:total]), string(p.Bytes()))
				require.Zero(t, p.Omitted)
				continue
			}
			require.Equal(t, string(text[:10]), string(p.Head))
			require.Equal(t, string(text[total-10:total]), string(p.Tail))
			require.Equal(t, int64(total-20), p.Omitted)
			require.LessOrEqual(t, cap(k.head)+cap(k.tail), 200)
		}
	}
}

func TestFloodCallsOnce(t *testing.T) {
	t.Parallel()
	calls := 0
	f := &flood{left: 10, over: func() { calls++ }}
	k := &keeper{half: 1, flood: f}
	for range 5 {
		_, _ = k.Write([]byte("12345"))
	}
	require.Equal(t, 1, calls)
	require.True(t, f.happened())
}

func TestGreeterTakesNothingButItsOwnLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\x1enonce 77 12\nrest\n":          "rest\n",
		"\x1eother 77 12\nrest\n":          "\x1eother 77 12\nrest\n",
		"OCI runtime failed\n":             "OCI runtime failed\n",
		"no line":                          "no line",
		strings.Repeat("x", maxGreeting+5): strings.Repeat("x", maxGreeting+5),
	} {
		for _, piece := range []int{1, 5, 1000} {
			var got, other bytes.Buffer
			g := &greeter{nonce: "nonce", next: &got, other: &other, began: make(chan struct{})}
			for part := range slices.Chunk([]byte(text), piece) {
				_, _ = g.Write(part)
			}
			g.flush()
			require.Equal(t, want == "rest\n", g.hasBegun())
			if !g.hasBegun() {
				require.Empty(t, got.String())
				require.Equal(t, want, other.String())
			} else {
				require.Equal(t, want, got.String())
				require.Empty(t, other.String())
				require.Equal(t, "77", g.since)
				require.Equal(t, "12", g.first)
			}
		}
	}
}

func TestOctalIsAsciiAndOnlyUsedWhereItMustBe(t *testing.T) {
	t.Parallel()
	require.Equal(t, `a\0134\0012\0377~`, octal("a\\\n\xff~"))
	plain := wrapped(Command{Args: []string{"é", `\`}, Dir: "/"}, true, "")
	require.Equal(t, []string{"-an", "", "/", "é", `\`}, plain[4:])
	coded := wrapped(Command{Args: []string{"\xff", "b"}, Dir: "/", Merge: true}, false, "f1")
	require.Equal(t, []string{"-mne", "f1", "/", `\0377`, "b"}, coded[4:])
	require.True(t, utf8.ValidString(strings.Join(coded, "")))
}

// A plain Sandbox, without a method Exec, serves Exec as far as it can.
func TestExecFallsBackToRun(t *testing.T) {
	t.Parallel()
	var s Sandbox = plainSandbox{}
	res, err := Exec(t.Context(), s, Command{Args: []string{"a"}, Stdin: strings.NewReader("in")})
	require.NoError(t, err)
	require.Equal(t, "a in", string(res.Stdout.Bytes()))
	_, err = Exec(t.Context(), s, Command{Args: []string{"a"}, Env: map[string]string{"A": "b"}})
	require.Error(t, err)
	require.Empty(t, Dir(s))
}

type plainSandbox struct{ Sandbox }

func (plainSandbox) Run(_ context.Context, c qwen.Command) (qwen.Output, error) {
	return qwen.Output{Stdout: []byte(c.Args[0] + " " + string(c.Stdin))}, nil
}
