package service_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// each calls f for every element of a document.
func each(n *html.Node, f func(*html.Node)) {
	if n.Type == html.ElementNode {
		f(n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		each(c, f)
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func text(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(text(c))
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// The page shows each run with its state, progress, error and artifacts, newest first;
// what comes from outside is text on it; it loads nothing and runs nothing.
func TestPage(t *testing.T) {
	t.Parallel()
	w := start(t, script(t, `{"runs":{"good":{},"<script>alert(1)</script>":{"outcome":"fail","error":"<img src=x onerror=alert(1)> broke"},"long":{"outcome":"hang"}}}`), func(c *service.Config) { c.MaxConcurrentRuns = 2 })
	res := w.call("GET", "/", "")
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, res.body, "No run yet")

	good := w.submit(body(`"model_name":"good"`, "a", "b")).RunID
	w.until(good, swebench.StateSucceeded)
	bad := w.submit(body(`"model_name":"<script>alert(1)</script>"`)).RunID
	w.until(bad, swebench.StateFailed)
	long := w.submit(body(`"model_name":"long"`, "a", "b", "c")).RunID
	w.until(long, swebench.StateRunning)

	res = w.call("GET", "/", "")
	require.Equal(t, "text/html; charset=utf-8", res.Header.Get("Content-Type"))
	require.Contains(t, res.Header.Get("Content-Security-Policy"), "default-src 'none'")
	doc, err := html.Parse(strings.NewReader(res.body))
	require.NoError(t, err)
	var rows []*html.Node
	each(doc, func(n *html.Node) {
		require.NotContains(t, []string{"script", "img", "link", "iframe", "form", "object"}, n.Data)
		for _, a := range n.Attr {
			require.False(t, strings.HasPrefix(a.Key, "on"), a.Key)
			require.NotContains(t, a.Val, "://")
			require.NotEqual(t, "src", a.Key)
		}
		if n.Data == "tr" && attr(n, "id") != "" {
			rows = append(rows, n)
		}
	})
	require.Len(t, rows, 3)
	for i, want := range []struct {
		id, model, state, agents, error string
		artifacts                       int
	}{
		{long, "long", "running", "0 / 3", "", 0},
		{bad, "<script>alert(1)</script>", "failed", "1 / 1", "<img src=x onerror=alert(1)> broke", 4 - 1},
		{good, "good", "succeeded", "2 / 2", "", 5},
	} {
		require.Equal(t, want.id, attr(rows[i], "id"))
		shown := text(rows[i])
		for _, part := range []string{want.model, want.state, want.agents, want.error} {
			require.Contains(t, shown, part)
		}
		var links []string
		var bars [][2]string
		each(rows[i], func(n *html.Node) {
			switch n.Data {
			case "a":
				links = append(links, attr(n, "href"))
			case "progress":
				bars = append(bars, [2]string{attr(n, "value"), attr(n, "max")})
			}
		})
		require.Equal(t, "/v1/runs/"+want.id, links[0])
		require.Len(t, links, 1+want.artifacts)
		for _, link := range links {
			require.Equal(t, 200, w.call("GET", link, "").StatusCode, link)
		}
		require.Equal(t, strings.Split(want.agents, " / "), bars[0][:])
	}
	require.Contains(t, text(doc), "3 known, 1 of 2 slots taken")
}

// The list holds the status of every run, newest first.
func TestList(t *testing.T) {
	t.Parallel()
	w := start(t, script(t, `{"runs":{"*":{}}}`))
	require.Equal(t, `{"runs":[]}`, w.call("GET", "/v1/runs", "").body)
	want := ""
	for i := range 3 {
		id := w.submit(body(`"model_name":"` + fmt.Sprint(i) + `"`)).RunID
		want = "," + string(w.until(id, swebench.StateSucceeded).Raw) + want
	}
	require.Equal(t, `{"runs":[`+want[1:]+`]}`, w.call("GET", "/v1/runs", "").body)
}
