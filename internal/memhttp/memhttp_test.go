package memhttp_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/internal/memhttp"
	"github.com/stretchr/testify/require"
)

// A day passes at once while a handler waits.
func TestClockGoesOnWhileHandlerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memhttp.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(24 * time.Hour)
			_, _ = io.WriteString(w, "later")
		}))
		defer s.Close()
		client := &http.Client{Transport: s.Transport()}
		defer client.CloseIdleConnections()
		begin := time.Now()
		res, err := client.Get(s.URL())
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, "later", string(text))
		require.Equal(t, 24*time.Hour, time.Since(begin))
	})
}
