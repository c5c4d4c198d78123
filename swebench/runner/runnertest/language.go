package runnertest

import "strings"

// A language is what the repository of a task is written in.
type language struct {
	file    string // the file that has the bug
	command string // runs all tests
	parser  string
	// test makes the test of a name, new or kept: its file, the content of that, and what the
	// parser calls it.
	test func(name, body string) (path, content, id string)
	// more are further files of the repository.
	more map[string]string
}

func (t Task) language() language {
	if t.Python {
		return python
	}
	return shell
}

// File is the file that has the bug.
func (t Task) File() string { return t.language().file }

var shell = language{
	file: "lib.sh", command: "sh tests/all", parser: "pytest",
	test: func(name, body string) (path, content, id string) {
		path = "tests/test_" + name + ".sh"
		return path, body + "\n", path
	},
	more: map[string]string{"tests/all": `for t in tests/test_*.sh; do
	if sh -c '. ./lib.sh; . "$1"' sh "./$t" >/dev/null 2>&1; then echo "PASSED $t"; else echo "FAILED $t"; fi
done
`},
}

var python = language{
	file: "lib.py", command: "python3 -m unittest discover -v -s tests -t .", parser: "unittest",
	test: func(name, body string) (path, content, id string) {
		const indent = "        "
		content = "import unittest\n\nfrom lib import *\n\n\nclass Test(unittest.TestCase):\n    def test_" + name + "(self):\n" +
			indent + strings.ReplaceAll(body, "\n", "\n"+indent)
		return "tests/test_" + name + ".py", content + "\n", "test_" + name + " (tests.test_" + name + ".Test)"
	},
	more: map[string]string{"tests/__init__.py": "", ".gitignore": "__pycache__/\n"},
}
