package service_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/internal/memhttp"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
)

// finished submits runs one after the other, each of which ends a second later.
func (b *bubble) finished(n int) []string {
	b.Helper()
	var ids []string
	for range n {
		v := b.submit(body(""))
		time.Sleep(time.Second)
		synctest.Wait()
		require.True(b, b.status(v.RunID).Status.Terminal())
		ids = append(ids, v.RunID)
	}
	return ids
}

// inBubble runs a test with a service of its own, whose runs end after half a second.
func inBubble(t *testing.T, keep int, test func(b *bubble, root string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		s, err := service.New(service.Config{
			ArtifactRoot: root, AllowUnauthenticated: true, MaxStoredRuns: keep, MaxConcurrentRuns: 2,
			Runner: service.RunnerFunc(func(ctx context.Context, job service.Job) (json.RawMessage, error) {
				if job.Request.ModelName == "long" {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				time.Sleep(500 * time.Millisecond)
				return json.RawMessage(`{}`), os.WriteFile(job.Path(swebench.FilePreds), []byte(strings.Repeat("{}", 1<<20)), 0o644)
			}),
		})
		require.NoError(t, err)
		server := memhttp.Serve(s)
		test(&bubble{T: t, transport: server}, root)
		require.NoError(t, s.Close(t.Context()))
		server.Close()
	})
}

func (b *bubble) known(ids []string) []bool {
	b.Helper()
	var known []bool
	for _, id := range ids {
		known = append(known, b.call("GET", "/v1/runs/"+id, "").StatusCode == 200)
	}
	return known
}

// Of the finished runs beyond the limit those go that ended more than five minutes ago,
// the oldest first, with their folders; the active ones stay.
func TestRetention(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(b *bubble, root string) {
		long := b.submit(body(`"model_name":"long"`)).RunID
		ids := b.finished(5)
		require.Equal(t, []bool{true, true, true, true, true}, b.known(ids), "five minutes have not gone by")
		time.Sleep(5*time.Minute - 5*time.Second - 250*time.Millisecond)
		synctest.Wait()
		require.Equal(t, []bool{true, true, true, true, true}, b.known(ids))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []bool{false, true, true, true, true}, b.known(ids))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []bool{false, false, false, true, true}, b.known(ids), "only the overflow goes")
		require.Equal(t, []bool{true}, b.known([]string{long}))
		entries, err := os.ReadDir(root)
		require.NoError(t, err)
		require.Len(t, entries, 4, "two, the active one, and the lock")
		require.NoDirExists(t, filepath.Join(root, ids[0]))
	})
}

// An expired run that is being downloaded is kept until the download has ended, and then
// removed with its folder.
func TestCase106_DownloadKeepsARun(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(b *bubble, root string) {
		ids := b.finished(1)
		transport := b.transport.Transport()
		req, err := http.NewRequest("GET", b.transport.URL()+swebench.ArtifactPath(ids[0], swebench.FilePreds), nil)
		require.NoError(t, err)
		res, err := transport.RoundTrip(req)
		require.NoError(t, err)
		ids = append(ids, b.finished(1)...)
		// A reader that is slow, but does read.
		got := 0
		buf := make([]byte, 64<<10)
		for range 20 {
			time.Sleep(30 * time.Second)
			n, err := io.ReadFull(res.Body, buf)
			require.NoError(t, err)
			got += n
		}
		require.Equal(t, []bool{true, true}, b.known(ids))
		rest, err := io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		require.EqualValues(t, 2<<20, int64(got)+rest)
		res.Body.Close()
		transport.CloseIdleConnections()
		synctest.Wait()
		require.Equal(t, []bool{false, true}, b.known(ids))
		require.NoDirExists(t, filepath.Join(root, ids[0]))
	})
}

// A reader that does not read any more is given up, so that it cannot keep a run for ever.
func TestStalledDownloadIsGivenUp(t *testing.T) {
	t.Parallel()
	inBubble(t, 1, func(b *bubble, _ string) {
		ids := b.finished(1)
		transport := b.transport.Transport()
		req, err := http.NewRequest("GET", b.transport.URL()+swebench.ArtifactPath(ids[0], swebench.FilePreds), nil)
		require.NoError(t, err)
		res, err := transport.RoundTrip(req)
		require.NoError(t, err)
		ids = append(ids, b.finished(1)...)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Equal(t, []bool{false, true}, b.known(ids))
		res.Body.Close()
		transport.CloseIdleConnections()
	})
}

// A limit of 0 keeps everything.
func TestCase107_NothingIsPruned(t *testing.T) {
	t.Parallel()
	inBubble(t, 0, func(b *bubble, root string) {
		ids := b.finished(4)
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		require.Equal(t, []bool{true, true, true, true}, b.known(ids))
		entries, err := os.ReadDir(root)
		require.NoError(t, err)
		require.Len(t, entries, 5)
	})
}
