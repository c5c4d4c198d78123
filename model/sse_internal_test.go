package model

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// referenceEvents reads server-sent events the plain way: the whole input at once, line
// by line.
func referenceEvents(input string) []string {
	input = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(input)
	events := []string{}
	var data []string
	end := func() {
		if len(data) > 0 {
			events = append(events, strings.Join(data, "\n"))
		}
		data = nil
	}
	for line := range strings.SplitSeq(input, "\n") {
		line = strings.TrimPrefix(line, "\ufeff")
		if line == "" {
			end()
			continue
		}
		if line == "data" {
			data = append(data, "")
		} else if value, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	end()
	return events
}

func readEvents(t *testing.T, r io.Reader) []string {
	t.Helper()
	s := newSSEReader(r, 1<<20)
	events := []string{}
	for {
		data, err := s.next()
		if errors.Is(err, io.EOF) {
			return events
		}
		require.NoError(t, err)
		events = append(events, string(data))
	}
}

var sseInputs = []string{
	"", "\n", "data: a\n\n", "data: a\n\ndata: b\n\n", "data:a\r\n\r\ndata:  b\r\n\r\n", "data: a\r\rdata: b\r\r",
	"data: a\ndata: b\ndata\ndata:\n\n", ": comment\nretry: 5\nid: 1\nevent: x\n\ndata: a\n\n", "data: a", "data: a\n", "data: a\ndata: b",
	"\ufeffdata: a\n\n", "data: a\n\n\n\ndata: b\n\n", "database: x\n\ndata : y\n\n", "data: 漢字\n\n", "data: a\n\r\ndata: b\r\n\n",
	"data: " + strings.Repeat("x", 40000) + "\n\ndata: b\n\n", "\r\n\rdata: a\n\n",
}

func TestSSE(t *testing.T) {
	t.Parallel()
	for _, input := range sseInputs {
		want := referenceEvents(input)
		require.Equal(t, want, readEvents(t, strings.NewReader(input)), "%.40q", input)
		if len(input) < 100 { // split anywhere, in the middle of a character too
			require.Equal(t, want, readEvents(t, iotest.OneByteReader(strings.NewReader(input))), "%q", input)
			for i := range input {
				parts := io.MultiReader(strings.NewReader(input[:i]), strings.NewReader(input[i:]))
				require.Equal(t, want, readEvents(t, parts), "%q split at %d", input, i)
			}
		}
		require.Equal(t, want, readEvents(t, iotest.DataErrReader(strings.NewReader(input))))
	}
}

func TestSSELimit(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]string{
		"endless line":  "data: " + strings.Repeat("x", 1<<20),
		"endless event": strings.Repeat("data: xxxxxxxxxx\n", 1<<16),
	} {
		s := newSSEReader(strings.NewReader(input), 1<<16)
		_, err := s.next()
		require.ErrorContains(t, err, "Limits.LineBytes", name)
		require.ErrorIs(t, err, KindResponse, name)
		require.LessOrEqual(t, len(s.buf)+cap(s.joined), 1<<19, name)
	}
}

// An error of the connection comes after the events before it, and is not an end.
func TestSSEError(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	s := newSSEReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(boom)), 1<<20)
	data, err := s.next()
	require.NoError(t, err)
	require.Equal(t, "a", string(data))
	for range 2 {
		_, err = s.next()
		require.ErrorIs(t, err, boom)
	}
}

func FuzzSSE(f *testing.F) {
	for _, input := range sseInputs {
		f.Add([]byte(input), 3)
	}
	f.Fuzz(func(t *testing.T, input []byte, split int) {
		want := referenceEvents(string(input))
		require.Equal(t, want, readEvents(t, bytes.NewReader(input)))
		if len(input) > 0 {
			i := (split%len(input) + len(input)) % len(input)
			require.Equal(t, want, readEvents(t, io.MultiReader(bytes.NewReader(input[:i]), bytes.NewReader(input[i:]))))
		}
	})
}
