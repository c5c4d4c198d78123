package redact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/redact"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const longKey = "sk-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY"

func TestText(t *testing.T) {
	t.Parallel()
	r := redact.New(longKey, "k3y", "")
	for in, want := range map[string]string{
		"":                                       "",
		"plain text: a = b, 1:2":                 "plain text: a = b, 1:2",
		"x" + longKey + "y":                      "x<redacted>y",
		"a k3y b":                                "a <redacted> b",
		"api_key=VALUE, next":                    "api_key=<redacted>, next",
		"APIKEY=VALUE":                           "APIKEY=<redacted>",
		"?access_token=V&x=1":                    "?access_token=<redacted>&x=1",
		"token=V password=W":                     "token=<redacted> password=<redacted>",
		"max_tokens=5":                           "max_tokens=5",
		"Authorization: Bearer a":                "Authorization: Bearer <redacted>",
		"authorization: basic YWJj end":          "authorization: basic <redacted> end",
		`{"Authorization": "Bearer abc", "x":1}`: `{"Authorization": "Bearer <redacted>", "x":1}`,
		"http://user:pass@host:80/p?q":           "http://user:<redacted>@host:80/p?q",
		"http://host:80/p@q":                     "http://host:80/p@q",
		"the bearer of this":                     "the bearer of this",
	} {
		got := r.Text(in)
		require.Equal(t, want, got, in)
		require.Equal(t, got, r.Text(got), "again: %s", in)
	}
	var none *redact.Redactor
	require.Equal(t, "token=<redacted>", none.Text("token=a"))
	require.Equal(t, "name", none.Name("name"))
	require.False(t, none.Weak())
}

// A secret is found in the spellings that URLs and JSON give it.
func TestSpellings(t *testing.T) {
	t.Parallel()
	r := redact.New(`a/b"c d+é`)
	for _, in := range []string{`a/b"c d+é`, `a/b\"c d+é`, `a%2Fb%22c+d%2B%C3%A9`, `a%2Fb%22c%20d+%C3%A9`} {
		require.Equal(t, "(<redacted>)", r.Text("("+in+")"), in)
	}
}

// A secret of one character is taken out of its own field and behind the words that
// announce one, and nowhere else.
func TestShortSecret(t *testing.T) {
	t.Parallel()
	r := redact.New("0")
	require.True(t, r.Weak())
	require.False(t, redact.New("00").Weak())
	for in, want := range map[string]string{
		"run 0a0b, 100 of 200":     "run 0a0b, 100 of 200",
		"key=0 x":                  "key=<redacted> x",
		`"api_key": "0"`:           `"api_key": "<redacted>"`,
		"Bearer 0":                 "Bearer <redacted>",
		"http://host:8000/v1/runs": "http://host:8000/v1/runs",
	} {
		require.Equal(t, want, r.Text(in), in)
	}
}

// The mark never holds a secret itself.
func TestMark(t *testing.T) {
	t.Parallel()
	require.Equal(t, redact.Mark, redact.New("zzz").Mark())
	for _, secret := range []string{"red", "act", "e", "<redacted>"} {
		r := redact.New(secret)
		require.NotContains(t, r.Text("KEY="+secret), secret)
	}
	require.Equal(t, "[hidden]", redact.New("red", "**").Mark())
}

// Of two secrets that begin alike the longer one is found.
func TestLongestSecret(t *testing.T) {
	t.Parallel()
	require.Equal(t, "<redacted>.", redact.New("secret", "secret-longer").Text("secret-longer."))
	require.Equal(t, "<redacted>.", redact.New("secret", "secret-longer").Name("secret-longer."))
}

func TestNamesAndURLs(t *testing.T) {
	t.Parallel()
	r := redact.New("k3y", longKey)
	require.Equal(t, "model-k3y", r.Name("model-k3y"))
	require.Equal(t, "model-<redacted>", r.Name("model-"+longKey))
	require.Equal(t, "http://u:<redacted>@k3y/<redacted>?api_key=<redacted>", r.URL("http://u:p@k3y/"+longKey+"?api_key=z"))
}

func TestJSON(t *testing.T) {
	t.Parallel()
	r := redact.New(longKey)
	in := `{ "a" : [1.50, "x` + longKey + `", {"API-Key": null, "max_new_tokens": 5, "tokens": 1, "key": "v"}],` +
		`"X-SMG-Routing-Key":{"deep":1},"<&>":"<&>\u00e9","` + longKey + `":1e400 , "pass\u0077ord":"q"}`
	want := `{ "a" : [1.50, "x<redacted>", {"API-Key": "<redacted>", "max_new_tokens": 5, "tokens": 1, "key": "v"}],` +
		`"X-SMG-Routing-Key":"<redacted>","<&>":"<&>\u00e9","<redacted>":1e400 , "pass\u0077ord":"<redacted>"}`
	got := string(r.JSON([]byte(in)))
	require.Equal(t, want, got)
	require.True(t, json.Valid([]byte(got)))
	in = `{"resolved_instances":"123","x":"123","y_instances":"abc123"}`
	require.Equal(t, `{"resolved_instances":"123","x":"<redacted>","y_instances":"abc<redacted>"}`, string(redact.New("123").JSON([]byte(in))))
	in = `{"token":12}`
	require.Equal(t, `{"token":"<redacted>"}`, string(r.JSON([]byte(in))))
	in = `{"token":[{"a":"]}\\","b":[]} , 1 ],"a":{"secret" : {"x":{}} , "n":-1.5e3,"password":true}, "l":[{"api_key":[]},{}],"b" : "` + longKey + `"}`
	require.Equal(t, `{"token":"<redacted>","a":{"secret" : "<redacted>" , "n":-1.5e3,"password":"<redacted>"}, "l":[{"api_key":"<redacted>"},{}],"b" : "<redacted>"}`, string(r.JSON([]byte(in))))
	require.Equal(t, `"no-secret"`, string(r.JSON([]byte(`"no-secret"`))))
}

// In whatever pieces a stream comes, its output is that of the whole.
func TestWriterPieces(t *testing.T) {
	t.Parallel()
	const overlapping, lines = "abcabcabcabc", "one\ntwo\nthree"
	r := redact.New(longKey, overlapping, lines, "k3y")
	text := "start " + longKey + "\nAuthorization: Bearer zzzz\nx" + overlapping + "abc " + lines + "\n" + longKey[:20] + "\n" +
		"http://u:p@h/ api_key=Q\n\n" + strings.Repeat("long ", 14000) + longKey + strings.Repeat(" word", 14000) + " token=T\nlast " + overlapping
	whole := r.Text(text)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := text; rest != ""; {
			n := min(len(rest), 1+rng.IntN([]int{3, 40, 5000}[rng.IntN(3)]))
			got, err := w.Write([]byte(rest[:n]))
			require.NoError(t, err)
			require.Equal(t, n, got)
			rest = rest[n:]
		}
		require.NoError(t, w.Flush())
		require.Equal(t, whole, out.String())
	}
}

// A stream without line ends is passed on all the same, and no secret in it.
func TestWriterWithoutLines(t *testing.T) {
	t.Parallel()
	for _, filler := range []string{"x", "x&", "x "} {
		r := redact.New(longKey)
		var out bytes.Buffer
		w := r.Writer(&out)
		for i := range 100 {
			fmt.Fprint(w, strings.Repeat(filler, 997+i), longKey[:i%len(longKey)])
			fmt.Fprint(w, longKey[i%len(longKey):])
		}
		require.Greater(t, out.Len(), 30<<10, "it is passed on while it comes")
		require.NoError(t, w.Flush())
		require.NotContains(t, out.String(), longKey)
		require.Equal(t, 100, strings.Count(out.String(), redact.Mark))
	}
}

// What a stream that was cut has of a secret at its end is taken out too.
func TestWriterCut(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := redact.New(longKey).Writer(&out)
	fmt.Fprint(w, "the key is "+longKey[:40])
	require.NoError(t, w.Flush())
	require.Equal(t, "the key is <redacted>", out.String())
}

func FuzzWriter(f *testing.F) {
	f.Add("a "+longKey+"\nb", "k3y", 3)
	f.Add("aaa\naaaa", "aaa", 1)
	f.Add("00", "\xab", 1)
	f.Fuzz(func(t *testing.T, text, secret string, piece int) {
		r := redact.New(secret)
		var out bytes.Buffer
		w := r.Writer(&out)
		piece = min(max(1, piece), 1000)
		for rest := text; rest != ""; {
			n := min(len(rest), piece)
			_, err := w.Write([]byte(rest[:n]))
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.NoError(t, w.Flush())
		// Where the secret can be a part of the mark, or of the mark and what is around
		// it, its absence means nothing.
		if len([]rune(secret)) >= 2 && !strings.ContainsAny(redact.Mark+"*[hidden]", secret) {
			require.NotContains(t, out.String(), secret)
		}
	})
}

func ExampleRedactor_Text() {
	r := redact.New("sk-secret")
	fmt.Println(r.Text("401 from http://me:pw@host/v1?api_key=x, sk-secret is not valid"))
	// Output: 401 from http://me:<redacted>@host/v1?api_key=<redacted>, <redacted> is not valid
}
