package runnertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Task is an instance: a repository with a bug, and tests that tell whether it is there.
type Task struct {
	ID      string
	Problem string
	// Python tells that the repository is of Python, else it is of shell scripts.
	Python bool
	// Lib is the content of the file that has the bug.
	Lib string
	// Test is a test that fails while the bug is there; Kept one that passes always. For
	// Python they are the body of a method of a unittest.TestCase.
	Test, Kept string
	// Old and New are the edit that the scripted model makes.
	Old, New string
	// Solved tells whether that edit solves the task.
	Solved bool
}

// Fixed is the file after the edit.
func (t Task) Fixed() string { return strings.Replace(t.Lib, t.Old, t.New, 1) }

// Tasks are six tasks. The scripted model solves four of them.
func Tasks() []Task {
	task := func(n int, name, problem, lib, kept, test, old, text string, solved bool) Task {
		return Task{
			ID: fmt.Sprintf("tiny__%s-%d", name, n), Problem: problem, Lib: lib, Kept: kept, Test: test, Old: old, New: text, Solved: solved,
		}
	}
	return []Task{
		task(1, "add", "add gives wrong sums: add 1 2 is -1", "add() { echo $(($1 - $2)); }\n",
			`[ "$(add 5 0)" = 5 ]`, `[ "$(add 1 2)" = 3 ]`, "$1 - $2", "$1 + $2", true),
		task(2, "greet", "greet loses names of two words: greet 'Ada Lovelace' says only Ada", "greet() { set -- $1; echo \"Hello, $1!\"; }\n",
			`[ "$(greet Ada)" = "Hello, Ada!" ]`, `[ "$(greet 'Ada Lovelace')" = "Hello, Ada Lovelace!" ]`, "set -- $1; ", "", true),
		task(3, "max", "max of negative numbers is 0: max -5 -3 should be -3", "max() { m=0; for n; do [ \"$n\" -gt \"$m\" ] && m=$n; done; echo $m; }\n",
			`[ "$(max 1 7 3)" = 7 ]`, `[ "$(max -5 -3)" = -3 ]`, "m=0;", "m=$1;", true),
		task(4, "trim", "trim takes away only one space at the end", "trim() { printf '%s' \"$1\" | sed 's/ $//'; }\n",
			`[ "$(trim 'a ')" = a ]`, `[ "$(trim 'a   ')" = a ]`, "s/ $//", "s/ *$//", true),
		task(5, "even", "even says yes to 3", "even() { [ $(($1 / 2)) -ge 0 ]; }\n",
			`even 4`, `even 4 && ! even 3`, "-ge 0", "-ge 1", false),
		task(6, "last", "last gives the first word", "last() { echo \"${1%% *}\"; }\n",
			`[ "$(last one)" = one ]`, `[ "$(last 'one two')" = two ]`, "%% *", "% *", false),
	}
}

// A Set is what Write has made.
type Set struct {
	// Dataset is a file of rows, JSON Lines, and Repos the folder of the repositories.
	Dataset, Repos string
	Tasks          []Task
}

// Solved is the number of tasks that the scripted model solves.
func (s Set) Solved() int {
	n := 0
	for _, t := range s.Tasks {
		if t.Solved {
			n++
		}
	}
	return n
}

const commit = `git init -q . && git add -A && git -c user.name=t -c user.email=t@localhost -c commit.gpgsign=false commit -q -m "$1" && git rev-parse HEAD`

// Write makes the repositories of the tasks and a dataset of them in a folder.
func Write(dir string, tasks ...Task) (Set, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Set{}, err
	}
	s := Set{Dataset: filepath.Join(dir, "dataset.jsonl"), Repos: filepath.Join(dir, "repos"), Tasks: tasks}
	var rows []byte
	for _, t := range tasks {
		repo := filepath.Join(s.Repos, t.ID)
		if err := os.MkdirAll(filepath.Join(repo, "tests"), 0o755); err != nil { //nolint:gosec // sandboxes may run as others
			return s, err
		}
		l := t.language()
		kept, keptBody, keptID := l.test("kept", t.Kept)
		added, addedBody, addedID := l.test("new", t.Test)
		err := errors.Join(put(repo, l.file, t.Lib), put(repo, kept, keptBody))
		for name, content := range l.more {
			err = errors.Join(err, put(repo, name, content))
		}
		if err != nil {
			return s, err
		}
		cmd := exec.Command("sh", "-c", commit, "sh", t.ID) //nolint:gosec,noctx // it takes milliseconds
		cmd.Dir = repo
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		base, err := cmd.Output()
		if err != nil {
			return s, fmt.Errorf("the repository of %s: %w", t.ID, err)
		}
		row, err := json.Marshal(map[string]any{
			"instance_id": t.ID, "repo": repo, "base_commit": strings.TrimSpace(string(base)), "problem_statement": t.Problem,
			"test_patch": addition(added, addedBody), "test_command": l.command, "log_parser": l.parser,
			"FAIL_TO_PASS": []string{addedID}, "PASS_TO_PASS": []string{keptID},
		})
		if err != nil {
			return s, err
		}
		rows = append(append(rows, row...), '\n')
	}
	return s, os.WriteFile(s.Dataset, rows, 0o600)
}

func put(dir, name, content string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644) //nolint:gosec // sandboxes may run as others
}

// addition is the patch that adds a file.
func addition(name, content string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(content, "\n"), "\n")
	return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1,%[2]d @@\n+%[3]s\n",
		name, len(lines), strings.Join(lines, "+"))
}
