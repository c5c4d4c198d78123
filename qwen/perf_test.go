package qwen_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
)

// readAll reads one plain message.
func readWhole(tb testing.TB, raw []byte) *model.Response {
	tb.Helper()
	reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{Tools: fuzzTools})
	if err := reader.Message(raw); err != nil {
		tb.Fatal(err)
	}
	res, err := reader.Finish("stop", true)
	if err != nil {
		tb.Fatal(err)
	}
	return res
}

func sized(line string, n int) string { return strings.Repeat(line, n/len(line)+1)[:n] }

// messagesOf are sound answers of a size.
var messagesOf = map[string]func(n int) []byte{
	"create": func(n int) []byte {
		arguments := `{"command": "create", "path": "a.py", "new_str": "` + strings.ReplaceAll(sized("x = [\"a\", '<b>']  # line\n", n), "\n", `\n`) + `"}`
		arguments = strings.ReplaceAll(arguments, `["a"`, `[\"a\"`)
		return message("", "", &arguments)
	},
	"xml": func(n int) []byte {
		value := sized("if a < b and c > d: print('<x>')\n", n)
		return message("<tool_call>\n<function=str_replace_editor>\n<parameter=command>\ncreate\n</parameter>\n<parameter=path>\na.py\n</parameter>\n<parameter=new_str>\n"+value+"\n</parameter>\n</function>\n</tool_call>", "", nil)
	},
	"json in text": func(n int) []byte {
		value := strings.ReplaceAll(sized("if a < b and c > d: print('<x>')\n", n), "\n", `\n`)
		return message("<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \""+value+"\"}}\n</tool_call>", "", nil)
	},
	"prose": func(n int) []byte {
		return message(sized("A line with `code` and a < sign.\n\n```\nfence\n```\n", n), "", nil)
	},
}

var sizes = []int{10_000, 100_000, 1_000_000}

// The time for a byte stays the same from 10 KB to 1 MB.
func BenchmarkRead(b *testing.B) {
	for name, build := range messagesOf {
		for _, n := range sizes {
			raw := build(n)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					readWhole(b, raw)
				}
			})
		}
	}
}

// hostile are texts that make a careless parser go over them again and again.
var hostile = map[string]func(n int) string{
	"openers":           func(n int) string { return sized("<tool_call>", n) },
	"functions":         func(n int) string { return sized("<function=bash>", n) },
	"wrapped functions": func(n int) string { return sized("<tool_call><function=bash>", n) },
	"parameters":        func(n int) string { return "<tool_call><function=bash>" + sized("<parameter=command>\n", n) },
	"closers":           func(n int) string { return sized("</parameter></function></tool_call>", n) },
	"literal openers": func(n int) string {
		return sized("<tool_call>\n<function=bash>\n<parameter=command>\n'<tool_call>'\n</parameter>\n</function>\n</tool_call>\n", n)
	},
	"wrappers close alone": func(n int) string {
		return sized("<tool_call><function=bash><parameter=command>x</tool_call>", n)
	},
	"functions close alone": func(n int) string {
		return sized("<tool_call><function=bash><parameter=command>x</function> x ", n)
	},
	"unclosed values": func(n int) string {
		return sized("<tool_call>\n<function=bash>\n<parameter=command>\n</parameter>x", n)
	},
	"given parameters": func(n int) string {
		return "<tool_call><function=bash><parameter=command>\n" + sized("<parameter=command>\nx\n", n)
	},
	"many parameters": func(n int) string { return "<tool_call><function=bash>" + sized("<parameter=command>x</parameter>", n) },
	"many names": func(n int) string {
		var b strings.Builder
		b.WriteString("<tool_call><function=bash>")
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "<parameter=p%d>x</parameter>", i)
		}
		return b.String() + "</function></tool_call>"
	},
	"calls": func(n int) string {
		return sized("<tool_call><function=bash><parameter=command>ls</parameter></function></tool_call>", n)
	},
	"json calls": func(n int) string {
		return sized("<tool_call>{\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}</tool_call>", n)
	},
	"json openers":      func(n int) string { return sized("<tool_call>{\"name\":", n) },
	"broken json":       func(n int) string { return sized("<tool_call>{\"a\":\"b\"c</tool_call>", n) },
	"json lists":        func(n int) string { return sized("<tool_call>[\"", n) },
	"nested lists":      func(n int) string { return "<tool_call>" + sized("[", n) },
	"placeholders":      func(n int) string { return sized("<tool_call>{\"name\": <f>", n) },
	"name placeholders": func(n int) string { return sized("<tool_call>{\"name\":\"{\",\"x\":\"", n) },
	"backticks": func(n int) string {
		var b strings.Builder
		for i := 1; b.Len() < n; i++ {
			b.WriteString(strings.Repeat("`", i))
			b.WriteByte(' ')
		}
		return b.String()
	},
	"single backticks":   func(n int) string { return sized("`` ` ", n) },
	"fences":             func(n int) string { return sized("```\n", n) },
	"fence lines":        func(n int) string { return sized("``` `\n", n) },
	"thinking":           func(n int) string { return sized("<think>\n", n) },
	"closed thinking":    func(n int) string { return sized("<think>a</think>", n) },
	"think closers":      func(n int) string { return "<think>" + sized("</think>", n) },
	"blanks":             func(n int) string { return sized(" \n\t", n) },
	"blanks before tags": func(n int) string { return sized("<tool_call>"+strings.Repeat(" ", 50), n) },
	"angle brackets":     func(n int) string { return sized("<", n) },
	"partial tags":       func(n int) string { return sized("<tool_cal", n) },
	"long name":          func(n int) string { return "<tool_call><function=" + sized("a", n) },
	"names without end":  func(n int) string { return sized("<tool_call><function=a", n) },
	"drift":              func(n int) string { return "<tool_call><function=bash>" + sized("<parameter=command=", n) },
	"junk":               func(n int) string { return sized("<tool_call><function=bash>junk", n) },
	"json in functions":  func(n int) string { return sized("<tool_call><function=bash>{\"command\":\"ls\"}</function>", n) },
	"cut json in function": func(n int) string {
		return sized("<tool_call><function=bash>{\"command\":\"ls</function></tool_call>", n)
	},
	"bare json": func(n int) string { return "[" + sized("{\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}},", n) },
	"python": func(n int) string {
		return "<tool_call><function=finish><parameter=files_modified>[" + sized("'a',", n) + "]</parameter></function></tool_call>"
	},
	"deep python": func(n int) string {
		return "<tool_call><function=finish><parameter=files_modified>" + sized("[", n) + "</parameter></function></tool_call>"
	},
	"empty functions":      func(n int) string { return sized("<tool_call><function=bash></function>", n) },
	"functions in wrapper": func(n int) string { return "<tool_call>" + sized("<function=bash></function>", n) },
}

// hostileArguments are hostile texts of structured arguments.
var hostileArguments = map[string]func(n int) string{
	"braces":   func(n int) string { return sized("{", n) },
	"repeated": func(n int) string { return sized("{}", n) },
	"closing":  func(n int) string { return "{}" + sized("}", n) },
	"controls": func(n int) string { return `{"command":"` + sized("\n", n) + `"}` },
	"commas":   func(n int) string { return `{"files_modified":[` + sized(`["a",],`, n) + `]}` },
	"escapes":  func(n int) string { return `{"command":"` + sized(`\u00e9\\`, n/7*7) + `"}` },
	"names": func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, `"p%d":1,`, i)
		}
		return "{" + b.String() + `"command":"ls"}`
	},
	"same names":     func(n int) string { return "{" + sized(`"command":"a",`, n/14*14) + `"command":"ls"}` },
	"double encoded": func(n int) string { return `"` + sized(`{\"`, n/3*3) },
	"numbers":        func(n int) string { return `{"command":` + sized("1", n) + `}` },
	"digits":         func(n int) string { return sized("1", n) },
}

// hostileCosts reads a text as content, as thinking, as arguments and as a stream of small
// pieces.
func hostileCosts(t testing.TB, build func(n int) string, asArguments bool) map[string]func(n int) time.Duration {
	t.Helper()
	timed := func(f func()) time.Duration {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		best := time.Hour
		for range 3 {
			start := processor()
			f()
			best = min(best, processor()-start)
		}
		return best
	}
	stream := func(deltas []json.RawMessage) {
		reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{Tools: fuzzTools})
		for _, delta := range deltas {
			if err := reader.Delta(delta, func(model.Event) bool { return true }); err != nil {
				t.Error(err)
			}
		}
		_, _ = reader.Finish("stop", true)
	}
	pieces := func(s string) (out []string) {
		const size = 3
		for len(s) > size {
			out, s = append(out, s[:size]), s[size:]
		}
		return append(out, s)
	}
	if asArguments {
		return map[string]func(n int) time.Duration{
			"message": func(n int) time.Duration {
				text := build(n)
				raw := message("", "", &text)
				return timed(func() { readWhole(t, raw) })
			},
			"stream": func(n int) time.Duration {
				text := build(n / 4)
				all := deltas("", "", &text, pieces)
				return timed(func() { stream(all) })
			},
		}
	}
	return map[string]func(n int) time.Duration{
		"content": func(n int) time.Duration {
			raw := message(build(n), "", nil)
			return timed(func() { readWhole(t, raw) })
		},
		"reasoning": func(n int) time.Duration {
			raw := message("", build(n), nil)
			return timed(func() { readWhole(t, raw) })
		},
		"content stream": func(n int) time.Duration {
			all := deltas(build(n/4), "", nil, pieces)
			return timed(func() { stream(all) })
		},
		"reasoning stream": func(n int) time.Duration {
			all := deltas("", build(n/4), nil, pieces)
			return timed(func() { stream(all) })
		},
	}
}

// BenchmarkHostile tells how the time to read grows with eight times the text, whatever it
// is made of: 1 is in proportion, 8 is going over all of it again for each part.
func BenchmarkHostile(b *testing.B) {
	const small, factor = 20_000, 8
	run := func(name string, build func(n int) string, asArguments bool) {
		for way, cost := range hostileCosts(b, build, asArguments) {
			b.Run(name+"/"+way, func(b *testing.B) {
				for b.Loop() {
					one, many := max(cost(small), time.Microsecond), cost(small*factor)
					b.ReportMetric(float64(many)/float64(one)/factor, "growth")
				}
			})
		}
	}
	for name, build := range hostile {
		run(name, build, false)
	}
	for name, build := range hostileArguments {
		run("arguments "+name, build, true)
	}
}
