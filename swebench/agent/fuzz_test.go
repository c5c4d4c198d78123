package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/homing-go/homing/model"
)

// Whatever a template file holds, it is a template or an error.
func FuzzTemplate(f *testing.F) {
	for _, name := range []string{"base", "more", "limits", "text"} {
		text, err := os.ReadFile("testdata/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, source := range []string{"{% if a %}", "{{ task[:5000] }}", "{% raw %}{{", "{{ task|int }}{# ", "{% for x in [1,2] %}{{ x }}{% endfor %}", "{% set a = 1 -%}\n{{ a }}"} {
		f.Add("agent: {system_template: '" + source + "'}")
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "t.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		template, err := Load(file)
		if err != nil {
			return
		}
		vars := template.vars(Task{Problem: "p", Dir: "/testbed"}, template.Limits, "m", [4]string{})
		_, _ = template.system.render(vars)
		_, _ = template.instance.render(vars)
		_ = template.try(vars)
	})
}

// Whatever a journal holds, it is a history or an error, and what was read is read again the
// same after the file was opened for writing.
func FuzzJournal(f *testing.F) {
	start := `{"time":"2026-01-01T00:00:00Z","start":{"version":1,"session":{"id":"a"},"messages":["{\"role\":\"user\",\"content\":\"x\"}"]}}` + "\n"
	answer := `{"answer":{"message":"{\"role\":\"assistant\",\"content\":\"\"}","calls":[{"id":"c","name":"bash","arguments":"{\"command\":\"ls\"}"}]}}` + "\n"
	result := `{"result":{"call":0,"message":"{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"\"}"}}` + "\n"
	f.Add(start + answer + result + `{"exit":{"status":"Submitted"}}` + "\n")
	f.Add(start + answer[:30])
	f.Add(start + result)
	f.Add("\x00\x00")
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		past, err := ReadJournal(file)
		journal, opened := OpenJournal(file)
		if (err == nil) != (opened == nil) {
			t.Fatalf("read %v, opened %v", err, opened)
		}
		if err != nil {
			return
		}
		if len(journal.Past()) != len(past) {
			t.Fatalf("read %d steps, opened %d", len(past), len(journal.Past()))
		}
		_ = journal.Close()
		if len(past) == 0 {
			return
		}
		if h, err := readHistory(past); err == nil {
			model.NewTranscript(h.messages...)
			for _, a := range h.answers {
				a.response()
			}
		}
		_ = WriteTrajectory(discard{}, past)
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
