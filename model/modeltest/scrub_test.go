package modeltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/routing"
)

// echo answers with what it is told by the header, and with the request's body.
func echo(t *testing.T, header http.Header, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		if body != "" {
			_, _ = io.WriteString(w, body)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestScrubsSecrets(t *testing.T) {
	t.Parallel()
	const a, b, c = "Zq7-secret-one", "Zq8/secret+two=", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.Zq9abc-_d"
	for name, x := range map[string]struct {
		tape    modeltest.Tape
		request []string // header
		query   string
		body    string
		header  http.Header // of the answer
		answer  string
		want    []string // lines of the file
	}{
		"authorization": {
			modeltest.Tape{Headers: []string{"authorization"}},
			[]string{"Authorization", "Bearer " + a},
			"", "", nil, "Incorrect key: " + a + "; not " + a + "x",
			[]string{"> Authorization: Bearer REDACTED", "+Incorrect key: REDACTED; not " + a + "x"},
		},
		"authorization by default": {modeltest.Tape{}, []string{"Authorization", "Basic " + a}, "", "I am " + a, nil, "", []string{"+I am REDACTED"}},
		"keys": {
			modeltest.Tape{Headers: []string{"API-Key", "X-Api-Key", "Ocp-Apim-Subscription-Key"}, Secrets: []string{"ocp-apim-subscription-key"}},
			[]string{"Api-Key", a, "x-api-key", b, "Ocp-Apim-Subscription-Key", c},
			"", "", nil, "",
			[]string{"> Api-Key: REDACTED", "> x-api-key: REDACTED", "> Ocp-Apim-Subscription-Key: REDACTED"},
		},
		"cookies": {
			modeltest.Tape{Headers: []string{"Cookie"}},
			[]string{"Cookie", "SRV=" + a + "; theme=" + b},
			"", "",
			http.Header{"Set-Cookie": {"SRV=" + a + "; Path=/; Expires=Wed, 21 Oct 2015 07:28:00 GMT; HttpOnly", "b=" + b}},
			"",
			[]string{"> Cookie: SRV=REDACTED; theme=REDACTED", "< Set-Cookie: SRV=REDACTED; Path=/; HttpOnly", "< Set-Cookie: b=REDACTED"},
		},
		"tokens of a router": {
			modeltest.Tape{},
			nil, "", "",
			http.Header{"X-Router-Token": {a}, "X-Ratelimit-Remaining-Tokens": {"100000000"}},
			`{"token is":"` + a + `"}`,
			[]string{"< X-Ratelimit-Remaining-Tokens: 100000000", "< X-Router-Token: REDACTED", `+{"token is":"REDACTED"}`},
		},
		"the account": {modeltest.Tape{}, nil, "", "", http.Header{"Openai-Organization": {a}}, "x", []string{"< Openai-Organization: REDACTED"}},
		"query": {
			modeltest.Tape{Secrets: []string{"code"}},
			nil, "?api_key=" + a + "&b=%20c&key=" + a + "&Code=" + a + "&access_token=" + c, "", nil, "",
			[]string{"> GET /?api_key=REDACTED&b=%20c&key=REDACTED&Code=REDACTED&access_token=REDACTED"},
		},
		"JSON members": {
			modeltest.Tape{Secrets: []string{"pin"}},
			nil, "", `{"access_token": "` + a + `","Client_Secret":"a\"` + b + `","max_tokens":100,"pin":"` + a + `"}`, nil, "",
			[]string{`+{"access_token": "REDACTED",`, `+"Client_Secret":"REDACTED",`, `+"max_tokens":100,`, `+"pin":"REDACTED"}`},
		},
		"forms": {
			modeltest.Tape{},
			nil, "", "key sk-proj-0123456789abcdef Zq or Bearer abcdefgh12345678Zq; sk-learn-a-lot-of-words stays; " + c, nil, "",
			[]string{"+key REDACTED Zq or REDACTED; sk-learn-a-lot-of-words stays; REDACTED"},
		},
		"a common word is no secret": {
			modeltest.Tape{Headers: []string{"Authorization", "X-Auth-Mode"}},
			[]string{"Authorization", "Bearer EMPTY", "X-Auth-Mode", "required"},
			"?key=ab1", `{"required":["EMPTY","ab1"]}`, nil, "",
			[]string{"> POST /?key=REDACTED", "> Authorization: Bearer REDACTED", "> X-Auth-Mode: REDACTED", `+{"required":[`, `+"EMPTY",`, `+"ab1"]}`},
		},
		"custom": {
			modeltest.Tape{Headers: []string{"X-Time"}, Scrub: func(text string) string { return regexp.MustCompile(`[0-9]{4}`).ReplaceAllString(text, "NNNN") }},
			[]string{"X-Time", "1234"},
			"?at=1234", "now 1234",
			http.Header{"X-Time": {"5678"}},
			"",
			[]string{"> POST /?at=NNNN", "> X-Time: NNNN", "+now NNNN", "< X-Time: NNNN"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := echo(t, x.header, x.answer)
			send := func(transport http.RoundTripper, url string) {
				_, _, err := get(t.Context(), transport, url+"/"+x.query, x.body, x.request...)
				require.NoError(t, err)
			}
			file, messages := recording(t, x.tape, func(transport http.RoundTripper) { send(transport, url) })
			require.Empty(t, messages)
			text := read(t, file)
			for _, line := range x.want {
				require.Contains(t, text, "\n"+line+"\n")
			}
			for _, secret := range []string{"Zq7", "Zq8", "Zq9", "eyJ", "abcdefgh12345678"} {
				require.NotContains(t, strings.ReplaceAll(text, a+"x", ""), secret)
			}
			require.Empty(t, replaying(t, x.tape, file, func(transport http.RoundTripper) { send(transport, "http://nowhere.test") }))
		})
	}
}

// A session travels by its own carrier, with its relatives, in header, cookie, body
// and query, and the answers name it.
func TestScrubsSessions(t *testing.T) {
	t.Parallel()
	url := echo(t, nil, "")
	// run is a parent and its child, in two requests each, and returns the answers with
	// the IDs that it had.
	run := func(transport http.RoundTripper, url string, parent routing.ID) []string {
		var got []string
		root := routing.NewSession(parent)
		child := root.Child("helper")
		grandchild := child.Child("helper")
		send := func(s routing.Session, format string, args ...any) {
			body, err := json.Marshal(fmt.Sprintf(format, args...))
			require.NoError(t, err)
			ctx := routing.NewContext(t.Context(), s)
			header := []string{"X-Any-Name", string(s.ID), "X-Parent-Token", string(s.Parent), "Cookie", "other=1234; affinity=" + string(s.ID)}
			_, text, err := get(ctx, transport, url+"/"+string(s.ID)+"?root="+string(s.Root), string(body), header...)
			require.NoError(t, err)
			for id, name := range map[routing.ID]string{root.ID: "R", child.ID: "C", grandchild.ID: "G"} {
				text = strings.ReplaceAll(text, string(id), name)
			}
			got = append(got, text)
		}
		send(root, "I am %s and %sx is not", root.ID, root.ID)
		send(child, "%s of %s", child.ID, child.Parent)
		send(grandchild, "%s of %s of %s", grandchild.ID, child.ID, root.ID)
		send(root, "my helpers were %s;%s", child.ID, grandchild.ID)
		return got
	}
	ids := []routing.ID{routing.NewID(), routing.NewID()}
	var files []string
	var want []string
	for _, id := range ids {
		file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) { want = run(transport, url, id) })
		require.Empty(t, messages)
		files = append(files, file)
	}
	text := read(t, files[0])
	require.Equal(t, strings.ReplaceAll(text, string(ids[0]), string(ids[1])), read(t, files[1]))
	require.Equal(t, 2, strings.Count(text, string(ids[0])), "only in the longer word, there and back")
	for _, line := range []string{
		"session SESSION-1", "session SESSION-2 parent SESSION-1 root SESSION-1", "session SESSION-3 parent SESSION-2 root SESSION-1",
		"> POST /SESSION-3?root=SESSION-1", "> X-Any-Name: SESSION-3", "> X-Parent-Token: SESSION-2", "> Cookie: other=REDACTED; affinity=SESSION-3",
		`+"SESSION-3 of SESSION-2 of SESSION-1"`, `+"my helpers were SESSION-2;SESSION-3"`,
	} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	other := routing.NewID()
	messages := replaying(t, modeltest.Tape{}, files[1], func(transport http.RoundTripper) {
		_, _, err := get(routing.NewContext(t.Context(), routing.NewSession(other)), transport, "http://nowhere.test/"+string(other), "x")
		require.Error(t, err)
		_, own, _ := strings.Cut(err.Error(), "modeltest: ") // net/http shows the URL before it
		require.NotEmpty(t, own)
		require.NotContains(t, own, string(other), "IDs are not for messages")
	})
	require.NotContains(t, messages, string(other))
	require.Equal(t, []string{`"I am R and Rx is not"`, `"C of R"`, `"G of C of R"`, `"my helpers were C;G"`}, want)
	require.Empty(t, replaying(t, modeltest.Tape{Scrub: func(text string) string {
		return regexp.MustCompile(`[0-9a-f]{32}x`).ReplaceAllString(text, string(ids[1])+"x")
	}}, files[1], func(transport http.RoundTripper) {
		got := run(transport, "http://nowhere.test", routing.NewID())
		require.Equal(t, want[1:], got[1:])
	}))
}

// IDs that the caller made may be short, may contain one another, and may look like
// what stands for them in the file.
func TestScrubsUnusualIDs(t *testing.T) {
	t.Parallel()
	url := echo(t, nil, "")
	for name, c := range map[string]struct {
		id   string
		body string
		want string
	}{
		"a common word":      {"fix", `{"id":"fix","text":"fix the prefix","args":"{\"id\":\"fix\"}"}`, "+{\"id\":\"SESSION-1\",\n+\"text\":\"fix the prefix\",\n+\"args\":\"{\\\"id\\\":\\\"SESSION-1\\\"}\"}"},
		"to be escaped":      {`a"b\c-0123456789`, `{"id":"a\"b\\c-0123456789"}`, `+{"id":"SESSION-1"}`},
		"a quote at its end": {`0123456789abcdef"`, `{"id":"0123456789abcdef\""}`, `+{"id":"SESSION-1"}`},
		"like a name":        {"SESSION-1", `{"id":"SESSION-1","other":"SESSION-2"}`, "+{\"id\":\"SESSION-3\",\n+\"other\":\"SESSION-2\"}"},
		"of its own length":  {strings.Repeat("0123456789", 25), `{"id":"` + strings.Repeat("0123456789", 25) + `"}`, `+{"id":"SESSION-1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send := func(transport http.RoundTripper, url, id, body string) {
				ctx := routing.NewContext(t.Context(), routing.NewSession(routing.ID(id)))
				_, text, err := get(ctx, transport, url, body, "X-Session-ID", id)
				require.NoError(t, err)
				require.Equal(t, body, text)
			}
			file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) { send(transport, url, c.id, c.body) })
			require.Empty(t, messages)
			require.Contains(t, read(t, file), "\n"+c.want+"\n<")
			require.Empty(t, replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) { send(transport, nowhere[:len(nowhere)-3], c.id, c.body) }))
		})
	}
}

// The carrier's members are in the body, which is compared byte for byte.
func TestScrubsSessionsInTheBody(t *testing.T) {
	t.Parallel()
	talk := func(transport http.RoundTripper, url string) {
		client := newBase(t, model.Config{BaseURL: url, Carrier: bodyCarrier{}, HTTPClient: &http.Client{Transport: transport}})
		res, err := model.NewTrajectory(client, newSession()).Send(t.Context(), model.User("hi"))
		require.NoError(t, err)
		require.Equal(t, "hello", res.Text)
	}
	file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) {
		talk(transport, modeltest.NewServer(t, modeltest.Reply("hello")).URL())
	})
	require.Empty(t, messages)
	require.Contains(t, read(t, file), `"prompt_cache_key":"SESSION-1"`)
	require.Empty(t, replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) { talk(transport, nowhere) }))
}

type bodyCarrier struct{ routing.None }

func (bodyCarrier) Members(s routing.Session, _ routing.Turn) []routing.Member {
	return []routing.Member{{Path: []string{"prompt_cache_key"}, Value: fmt.Appendf(nil, "%q", s.ID)}}
}

// What goes without a session is told apart from what goes with one.
func TestReplayWithoutSessions(t *testing.T) {
	t.Parallel()
	url := echo(t, nil, "")
	list := func(transport http.RoundTripper, url string, bodies ...string) {
		for _, body := range bodies {
			_, text, err := get(routing.Without(context.WithoutCancel(t.Context())), transport, url, body)
			require.NoError(t, err)
			require.Equal(t, body, text)
		}
	}
	file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) { list(transport, url, "b", "a", "b") })
	require.Empty(t, messages)
	other, _ := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) { list(transport, url, "b", "b", "a") })
	require.Equal(t, read(t, file), read(t, other), "their order says nothing")
	require.Empty(t, replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) { list(transport, "http://nowhere.test", "b", "b", "a") }))
}
