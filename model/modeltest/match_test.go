package modeltest_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/routing"
)

func TestReplayReportsWhatDiffers(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServerFunc(t, func(modeltest.Recorded) modeltest.Step { return modeltest.Status(200, nil, "fine") })
	type send struct {
		session int // 0 is none
		target  string
		body    string
		header  []string
	}
	id := []string{"X-Session-ID", "own"} // "own" is replaced by the session's ID
	recorded := []send{{1, "/a", "one\ntwo", id}, {1, "/b?x=1", "", nil}, {0, "/c", "", nil}}
	play := func(transport http.RoundTripper, url string, list []send) error {
		sessions := []routing.Session{{}, newSession(), newSession()}
		for _, r := range list {
			ctx := routing.Without(t.Context())
			if r.session > 0 {
				ctx = routing.NewContext(t.Context(), sessions[r.session])
			}
			header := append([]string{}, r.header...)
			for i := range header {
				if header[i] == "own" {
					header[i] = string(sessions[r.session].ID)
				}
			}
			if _, _, err := get(ctx, transport, url+r.target, r.body, header...); err != nil {
				return err
			}
		}
		return nil
	}
	file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) {
		require.NoError(t, play(transport, s.URL(), recorded))
	})
	require.Empty(t, messages)

	for name, c := range map[string]struct {
		sends []send
		want  string // "" for a replay that is refused only by what was never asked for
		left  []string
	}{
		"nothing differs":          {recorded, "", nil},
		"sessionless first":        {[]send{recorded[2], recorded[0], recorded[1]}, "", nil},
		"left over":                {recorded[:1], "", []string{"GET /v1/b?x=1 of line 13, exchange 2 of SESSION-1", "GET /v1/c of line 19, without a session"}},
		"nothing sent":             {nil, "", []string{"POST /v1/a of line 6, exchange 1 of SESSION-1", "GET /v1/b?x=1 of line 13, exchange 2 of SESSION-1", "GET /v1/c of line 19, without a session"}},
		"another order":            {[]send{recorded[1]}, "request 1 of SESSION-1 is not that of line 6: it is GET /v1/b?x=1 and was POST /v1/a", nil},
		"another query":            {[]send{recorded[0], {1, "/b?x=2", "", nil}}, "request 2 of SESSION-1 is not that of line 13: it is GET /v1/b?x=2 and was GET /v1/b?x=1", nil},
		"another body":             {[]send{{1, "/a", "one\ntwin", id}}, `request 1 of SESSION-1 is not that of line 6: its body of 8 bytes, which was 7, differs from byte 6, in line 2: it is "one\ntwin" there and was "one\ntwo"`, nil},
		"a longer body":            {[]send{{1, "/a", "one\ntwo!", id}}, "differs from byte 7, in line 2", nil},
		"the session is gone":      {[]send{{1, "/a", "one\ntwo", nil}}, `the header X-Session-ID: "SESSION-1" is gone`, nil},
		"the session is new":       {[]send{recorded[0], {1, "/b?x=1", "", id}}, `the header X-Session-ID: "SESSION-1" is new`, nil},
		"another session's ID":     {[]send{{1, "/a", "one\ntwo", []string{"X-Session-ID", "ec86cd8ee94942bba26da3a9ef5fd48c"}}}, `the header X-Session-ID: "SESSION-1" is gone`, nil},
		"one request too many":     {[]send{recorded[0], recorded[1], recorded[1]}, "GET /v1/b?x=1 is request 3 of SESSION-1, which has 2 in the file", nil},
		"one session too many":     {[]send{recorded[0], {2, "/a", "one\ntwo", id}}, "POST /v1/a is the first request of a session, and each of the sessions in the file, 1, is taken by another one", nil},
		"session lost":             {[]send{{0, "/a", "one\ntwo", nil}}, "POST /v1/a has no session in its context, and it is not that of line 19: it is POST /v1/a and was GET /v1/c", nil},
		"no session left":          {[]send{recorded[2], recorded[2]}, "GET /v1/c has no session in its context, and the file has no request without a session left", nil},
		"a session where none was": {[]send{{1, "/c", "", nil}}, "it is GET /v1/c and was POST /v1/a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var err error
			messages := replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) { err = play(transport, nowhere, c.sends) })
			if c.want == "" {
				require.NoError(t, err)
				var want []string
				for _, left := range c.left {
					want = append(want, "modeltest: replay "+file+": recorded exchange never asked for: "+left)
				}
				require.Equal(t, strings.Join(want, "\n"), messages)
				return
			}
			require.ErrorContains(t, err, c.want)
			var request *model.RequestError
			require.ErrorAs(t, err, &request)
			require.True(t, strings.HasPrefix(messages, "modeltest: replay "+file+": "), messages)
			require.Contains(t, messages, c.want)
			require.Contains(t, messages, "; if that is meant, record the file anew with HOMING_RECORD=1")
			require.NotContains(t, messages, "\n", "one fault, and nothing of what is left")
		})
	}
}

// Sessions that began alike may change places, and others may not.
func TestReplayKeepsSessionsApart(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServerFunc(t, func(modeltest.Recorded) modeltest.Step { return modeltest.Status(200, nil, "fine") })
	// play sends bodies such as "1x", which is x in session 1, and returns what failed.
	play := func(transport http.RoundTripper, url, list string) string {
		var failed []string
		sessions := map[byte]routing.Session{}
		for word := range strings.FieldsSeq(list) {
			if sessions[word[0]].ID == "" {
				sessions[word[0]] = newSession()
			}
			if _, _, err := get(routing.NewContext(t.Context(), sessions[word[0]]), transport, url, word[1:]); err != nil {
				failed = append(failed, word)
			}
		}
		return strings.Join(failed, " ")
	}
	for name, c := range map[string]struct{ recorded, replayed, want string }{
		"as recorded":                  {"1x 1p 2x 2q", "1x 1p 2x 2q", ""},
		"free place":                   {"1x 1p 2x 2q", "1x 1q 2x 2p", ""},
		"taken place":                  {"1x 1p 2x 2q", "1x 2x 1q 2p", ""},
		"three of them":                {"1x 1p 2x 2q 3x 3r", "1x 2x 3x 1r 2p 3q", ""},
		"the other has gone on":        {"1x 1p 2x 2q 2r", "1x 2x 2q 1q", "1q"},
		"the other began in a way":     {"1x 1p 2y 2q", "1x 1q", "1q"},
		"the other goes elsewhere":     {"1x 1p 2x 2q", "1x 2x 1r", "1r"},
		"the rest is not touched":      {"1x 1y 1p 2x 2y 2q", "1x 1y 1r 2x 2y 2q", "1r"},
		"one beyond the end":           {"1x 2x 2q", "1x 2x 1q", ""},
		"one beyond the end, and more": {"1x 2x 2q", "1x 2x 1q 2q", "2q"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) {
				require.Empty(t, play(transport, s.URL(), c.recorded))
			})
			require.Empty(t, messages)
			messages = replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) {
				require.Equal(t, c.want, play(transport, nowhere, c.replayed))
			})
			require.Equal(t, c.want == "", messages == "", messages)
		})
	}
}

// A client of this module does not try again what does not match, and a session that
// is lost stays so.
func TestReplayEndsRetries(t *testing.T) {
	t.Parallel()
	file, _ := recordTurns(t, newSession())
	messages := replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) {
		attempts := 0
		client := newBase(t, model.Config{BaseURL: nowhere, HTTPClient: &http.Client{Transport: transport}, Hooks: model.Hooks{
			AttemptStart: func(context.Context, int) { attempts++ },
		}})
		run := model.NewTrajectory(client, newSession(), model.System("You fix bugs."))
		_, err := run.Send(t.Context(), model.User("Break it."))
		require.ErrorContains(t, err, `"Break it.\"}],\"model\"" there and was `)
		require.Equal(t, 1, attempts)
		_, err = run.Send(t.Context(), model.User("Fix it <now>."))
		require.ErrorContains(t, err, "request 1 of SESSION-1 is not that of line 6")
	})
	require.Equal(t, 1, strings.Count(messages, "modeltest: "), messages)
}

func TestReplayIsQuietAfterAFailure(t *testing.T) {
	t.Parallel()
	file, _ := recordTurns(t, newSession())
	fake := &fakeT{TB: t}
	require.Equal(t, "the test's own", fake.run(func() {
		modeltest.Replay(fake, file, nil)
		fake.Errorf("the test's own")
	}))
}

func TestReplaySwitch(t *testing.T) {
	s := modeltest.NewServerFunc(t, func(modeltest.Recorded) modeltest.Step { return modeltest.Status(200, nil, "live") })
	file := filepath.Join(t.TempDir(), "tape.txt")
	run := func(env string, base http.RoundTripper) string {
		t.Setenv("HOMING_RECORD", env)
		fake := &fakeT{TB: t}
		return fake.run(func() {
			_, text, err := get(t.Context(), modeltest.Replay(fake, file, base), s.URL(), "")
			require.NoError(t, err)
			require.Equal(t, "live", text)
		})
	}
	absent := "modeltest: replay " + file + ": there is no such recording; to make it, run the test with HOMING_RECORD=1 and a base transport"
	require.Equal(t, absent, run("", pool(t)))
	require.Equal(t, absent, run("0", pool(t)))
	require.Equal(t, absent, run("1", nil), "nothing to record by")
	require.Equal(t, `modeltest: HOMING_RECORD is "yes"; set it to 1 to record, and to 0 or nothing to replay`, run("yes", pool(t)))
	require.Empty(t, run("1", pool(t)))
	require.Len(t, s.Requests(), 1)
	require.Empty(t, run("1", nil), "a replay")
	require.Empty(t, run("", pool(t)))
	require.Len(t, s.Requests(), 1)
	require.Empty(t, run("true", pool(t)))
	require.Len(t, s.Requests(), 2)
}

func TestReplayAfterTheTest(t *testing.T) {
	t.Parallel()
	file, _ := recordTurns(t, newSession())
	var transport http.RoundTripper
	replaying(t, modeltest.Tape{}, file, func(tr http.RoundTripper) { transport = tr })
	_, _, err := get(t.Context(), transport, nowhere, "")
	require.ErrorContains(t, err, "modeltest: the test is over")
}
