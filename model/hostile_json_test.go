package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/homing-go/homing/model"
	"github.com/stretchr/testify/require"
)

// message is an answer with this message; deltas is a stream with these deltas. A delta has
// the same members, so that most cases are served as either.
func messageAnswer(message string) string {
	return `{"choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]}`
}

// bothWays answers plain calls with a message, and streams with it as one delta.
func bothWays(t *testing.T, message string) *model.Base {
	t.Helper()
	_, url := serve(t, answer(messageAnswer(message)), events(`{"choices":[{"index":0,"delta":`+message+`,"finish_reason":null}]}`, stopChunk, "[DONE]"))
	return open(t, model.Config{BaseURL: url, Limits: model.Limits{ResponseBytes: 64 * mib}})
}

// Odd JSON gives the same text plain and streamed, and a message that can be sent back.
func TestOddTexts(t *testing.T) {
	calm(t)
	for name, test := range map[string]struct{ content, text string }{
		"not UTF-8":            {"a\xffb\xc3\x28\xe2\x82", "a\ufffdb\ufffd(\ufffd\ufffd"},
		"overlong":             {"\xc0\xaf\xed\xa0\x80", "\ufffd\ufffd\ufffd\ufffd\ufffd"},
		"lone high half":       {`a\ud83db`, "a\ufffdb"},
		"lone low half":        {`a\udc00b`, "a\ufffdb"},
		"halves the wrong way": {`\udc00\ud83d`, "\ufffd\ufffd"},
		"half at the end":      {`a\ud83d`, "a\ufffd"},
		"whole pair":           {`\ud83d\ude00`, "\U0001f600"},
		"NUL":                  {`a\u0000b`, "a\x00b"},
		"controls":             {`\u0001\u001f\u007f\b\f`, "\x01\x1f\x7f\b\f"},
		"line ends inside":     {`a\r\nb\u2028`, "a\r\nb\u2028"},
		"escaped everything":   {`\u0061\/\"\\`, `a/"\`},
		"mark of byte order":   {"\ufeffa", "\ufeffa"},
		"what looks like SSE":  {`data: [DONE]\n\ndata: {}`, "data: [DONE]\n\ndata: {}"},
	} {
		b := bothWays(t, `{"role":"assistant","content":"`+test.content+`"}`)
		whole, err := b.Generate(routed(), ask("x"))
		require.NoError(t, err, name)
		streamed, err := b.Stream(routed(), ask("x")).Response()
		require.NoError(t, err, name)
		for _, res := range []*model.Response{whole, streamed} {
			require.Equal(t, test.text, res.Text, name)
			require.True(t, utf8.Valid(res.Message.JSON()), name)
			var v struct{ Content string }
			require.NoError(t, json.Unmarshal(res.Message.JSON(), &v), name)
			require.Equal(t, test.text, v.Content, name)
		}
	}
}

// What is deep, huge, doubled or of the wrong type gives the same outcome plain and
// streamed: a sound answer or a typed error.
func TestOddJSON(t *testing.T) {
	calm(t)
	deep := func(n int, left, middle, right string) string {
		return strings.Repeat(left, n) + middle + strings.Repeat(right, n)
	}
	digits := strings.Repeat("9", 100_000)
	for name, test := range map[string]struct {
		message string
		text    string
		kind    model.Kind
	}{
		"two contents":          {`{"role":"assistant","content":null,"content":"b"}`, "b", 0},
		"two messages' members": {`{"role":"assistant","content":"b","x":{"content":"c"}}`, "b", 0},
		"deep":                  {`{"role":"assistant","content":"b","x":` + deep(9000, "[", "", "]") + `}`, "b", 0},
		"too deep":              {`{"role":"assistant","content":"b","x":` + deep(10_001, "[", "", "]") + `}`, "", model.KindResponse},
		"far too deep":          {`{"role":"assistant","content":"b","x":` + deep(100_000/fewer+10_000, `{"a":`, "1", "}") + `}`, "", model.KindResponse},
		"deep without an end":   {`{"role":"assistant","content":"b","x":` + deep(5000, `[`, "", "") + `}`, "", model.KindResponse},
		"huge number":           {`{"role":"assistant","content":"b","x":` + digits + `,"y":1e` + digits[:400] + `,"z":-0.` + digits + `}`, "b", 0},
		"content is a number":   {`{"role":"assistant","content":5}`, "", 0},
		"content is an object":  {`{"role":"assistant","content":{"text":"b"}}`, "", 0},
		"parts of all kinds":    {`{"role":"assistant","content":[null,1,"x",[],{"text":5},{"text":"b"},{"type":"text"}]}`, "b", 0},
		"calls are a text":      {`{"role":"assistant","content":"b","tool_calls":"no"}`, "", model.KindResponse},
		"calls are null":        {`{"role":"assistant","content":"b","tool_calls":null}`, "b", 0},
		"a call is null":        {`{"role":"assistant","content":"b","tool_calls":[null]}`, "", model.KindResponse},
		"a call is a number":    {`{"role":"assistant","content":"b","tool_calls":[5]}`, "", model.KindResponse},
		"100,000 members":       {`{"role":"assistant","content":"b"` + strings.Repeat(`,"x":0`, 100_000/fewer) + `}`, "b", 0},
		"a long name":           {`{"role":"assistant","content":"b","` + strings.Repeat("n", mib) + `":0}`, "b", 0},
		"names escaped":         {`{"r\u006fle":"assistant","c\u006fntent":"b"}`, "b", 0},
		"long text":             {`{"role":"assistant","content":"` + strings.Repeat("long ", 200*kib/fewer) + `"}`, strings.Repeat("long ", 200*kib/fewer), 0},
		"only escapes":          {`{"role":"assistant","content":"` + strings.Repeat(`\u0061`, 200*kib/fewer) + `"}`, strings.Repeat("a", 200*kib/fewer), 0},
	} {
		b := bothWays(t, test.message)
		ctx, cancel := context.WithTimeout(routed(), 20*time.Second)
		var whole, streamed *model.Response
		var errs [2]error
		used := allocated(func() {
			whole, errs[0] = b.Generate(ctx, ask("x"))
			streamed, errs[1] = b.Stream(ctx, ask("x")).Response()
		})
		require.NoError(t, ctx.Err(), name)
		cancel()
		for i, res := range []*model.Response{whole, streamed} {
			if test.kind != 0 {
				require.ErrorIs(t, errs[i], test.kind, "%s %d", name, i)
				continue
			}
			require.NoError(t, errs[i], "%s %d", name, i)
			require.True(t, test.text == res.Text, "%s %d: %.40q", name, i, res.Text) //nolint:testifylint // the whole texts would drown the report
			require.True(t, json.Valid(res.Message.JSON()), name)
		}
		// Two calls, each with the body on both sides of the connection.
		require.Less(t, used, 4*mib+40*len(test.message), name)
	}
}

// Of several choices the one with index 0 counts, whatever the others are.
func TestOddChoices(t *testing.T) {
	calm(t)
	choice := func(index, text string) string {
		return `{` + index + `"KEY":{"role":"assistant","content":"` + text + `"},"finish_reason":FINISH}`
	}
	for name, test := range map[string]struct {
		choices string
		text    string
		kind    model.Kind // of the plain answer
	}{
		"index 0 twice":     {choice(`"index":0,`, "a") + "," + choice(`"index":0,`, "b"), "b", 0},
		"index 2^31":        {choice(`"index":2147483648,`, "a") + "," + choice(`"index":0,`, "b"), "b", 0},
		"only index 2^31":   {choice(`"index":2147483648,`, "a"), "", model.KindResponse},
		"index of a text":   {choice(`"index":"0",`, "a"), "", model.KindResponse},
		"index below 0":     {choice(`"index":-1,`, "a"), "", model.KindResponse},
		"index far beyond":  {choice(`"index":1e999,`, "a") + "," + choice("", "b"), "b", 0},
		"no index":          {choice("", "b"), "b", 0},
		"no choices":        {"", "", model.KindResponse},
		"choices of scalar": {`null,1,"x",[],` + choice(`"index":0,`, "b"), "b", 0},
		"100,000 choices":   {strings.Repeat(choice(`"index":7,`, "a")+",", 100_000/fewer) + choice(`"index":0,`, "b"), "b", 0},
	} {
		plain := strings.NewReplacer("KEY", "message", "FINISH", `"stop"`).Replace(test.choices)
		chunk := strings.NewReplacer("KEY", "delta", "FINISH", `null`).Replace(test.choices)
		_, url := serve(t, answer(`{"choices":[`+plain+`]}`), events(`{"choices":[`+chunk+`]}`, stopChunk, "[DONE]"))
		b := open(t, model.Config{BaseURL: url})
		res, err := b.Generate(routed(), ask("x"))
		if test.kind != 0 {
			require.ErrorIs(t, err, test.kind, name)
		} else {
			require.NoError(t, err, name)
			require.Equal(t, test.text, res.Text, name)
		}
		res, err = b.Stream(routed(), ask("x")).Response()
		require.NoError(t, err, name)
		require.Equal(t, test.text, res.Text, name)
	}
}

// 10,000 calls in one answer are 10,000 calls, however they are told apart and however
// they are spread; 100,000 are an error that names the limit. Neither takes long.
func TestManyCalls(t *testing.T) {
	calm(t)
	for _, n := range []int{10_000 / fewer, max(100_000/fewer, 17_000)} {
		for name, call := range map[string]func(i int) string{
			"index":      func(i int) string { return fmt.Sprintf(`"index":%d,"id":"c%d",`, i, i) },
			"far apart":  func(i int) string { return fmt.Sprintf(`"index":%d,"id":"c%d",`, i*214748, i) },
			"id":         func(i int) string { return fmt.Sprintf(`"id":"c%d",`, i) },
			"names only": func(int) string { return "" },
			"one index":  func(i int) string { return fmt.Sprintf(`"index":0,"id":"c%d",`, i) },
		} {
			if n > 16<<10 && name != "index" && name != "id" {
				continue
			}
			var one, many strings.Builder
			for i := range n {
				text := `{` + call(i) + `"type":"function","function":{"name":"f","arguments":"{}"}}`
				if i > 0 {
					one.WriteByte(',')
				}
				one.WriteString(text)
				fmt.Fprintf(&many, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[%s]}}]}\n\n", text)
			}
			message := `{"role":"assistant","content":null,"tool_calls":[` + one.String() + `]}`
			many.WriteString("data: " + stopChunk + "\n\n")
			b := bothWays(t, message)
			spread := through(t, model.Config{}, streamed(many.String()))
			for way, call := range []func(ctx context.Context) (*model.Response, error){
				func(ctx context.Context) (*model.Response, error) { return b.Generate(ctx, ask("x")) },
				func(ctx context.Context) (*model.Response, error) { return b.Stream(ctx, ask("x")).Response() },
				func(ctx context.Context) (*model.Response, error) { return spread.Stream(ctx, ask("x")).Response() },
			} {
				way := []string{"plain", "one delta", "spread"}[way]
				ctx, cancel := context.WithTimeout(routed(), 20*time.Second)
				var res *model.Response
				var err error
				begin := time.Now()
				used := allocated(func() { res, err = call(ctx) })
				t.Logf("%d calls by %s, %s: %v, %d KiB", n, name, way, time.Since(begin).Round(time.Millisecond), used/kib)
				require.NoError(t, ctx.Err())
				cancel()
				require.Less(t, used, 2*mib+20*many.Len())
				if n > 16<<10 {
					require.ErrorIs(t, err, model.KindResponse)
					require.ErrorContains(t, err, "16384 tool calls")
					continue
				}
				require.NoError(t, err)
				require.Len(t, res.ToolCalls, n, "%s, %s", name, way)
				require.NoError(t, res.ToolCalls[n-1].Err)
			}
		}
	}
}

// A name that is repeated beside arguments that grow is not paid for again with each delta.
func TestRepeatedNames(t *testing.T) {
	calm(t)
	var text strings.Builder
	const n = 100_000 / fewer
	for i := range n {
		part := "xxxxxxxx"
		if i == 0 {
			part = `{\"a\":\"`
		}
		fmt.Fprintf(&text, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"%s\"}}]}}]}\n\n", part)
	}
	text.WriteString("data: " + stopChunk + "\n\n")
	ctx, cancel := context.WithTimeout(routed(), 20*time.Second)
	defer cancel()
	begin := time.Now()
	res, err := through(t, model.Config{}, streamed(text.String())).Stream(ctx, ask("x")).Response()
	require.NoError(t, err)
	require.Len(t, res.ToolCalls, 1)
	require.Error(t, res.ToolCalls[0].Err)
	require.Less(t, time.Since(begin), 10*time.Second)
}

// Line ends of one kind are not searched for the other kind over and over.
func TestManyShortLines(t *testing.T) {
	calm(t)
	for _, end := range []string{"\r", "\n", "\r\n"} {
		text := ":" + strings.Repeat("a", 4*mib/fewer) + end + strings.Repeat(":"+end, mib/fewer) + "data: " + wordChunk + end + end + "data: " + stopChunk + end + end
		begin := time.Now()
		res, err := through(t, model.Config{}, streamed(text)).Stream(routed(), ask("x")).Response()
		require.NoError(t, err)
		require.Equal(t, "word", res.Text)
		require.Less(t, time.Since(begin), 5*time.Second, "%q", end)
	}
}
