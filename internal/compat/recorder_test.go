package compat

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The recorder sees header lines as they are, on the second request of a connection
// as on the first.
func TestRecorder(t *testing.T) {
	t.Parallel()
	server, url := record(t, Chat.answer)
	client := HTTPClient(t)
	for i := range 3 {
		body := fmt.Sprintf(`{"stream":%v,"prompt":"\r\n\r\n%d"}`, i == 1, i)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		require.NoError(t, err)
		req.Header["x-session-ID"] = []string{"a", "b"}
		req.Header["X-Session-Id"] = []string{fmt.Sprint(i)}
		res, err := client.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())

		got := server.all()[i]
		require.ElementsMatch(t, []string{"x-session-ID: a", "x-session-ID: b", "X-Session-Id: " + fmt.Sprint(i)}, got.named("X-SESSION-ID"))
		require.Equal(t, body, string(got.body))
		require.Equal(t, i == 1, got.streams())
		require.Equal(t, i == 1, strings.HasPrefix(string(text), "data: "))
	}
}
