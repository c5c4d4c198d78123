package harness_test

import (
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/stretchr/testify/require"
)

const pytestOutput = `============================= test session starts ==============================
collected 9 items

tests/test_a.py::test_ok PASSED                                          [ 11%]
tests/test_a.py::test_verbose_only PASSED                                [ 22%]
[gw1] [ 33%] PASSED tests/test_a.py::test_worker
tests/test_a.py::test_teardown PASSED                                    [ 33%]
tests/test_a.py::test_teardown ERROR                                     [ 33%]
tests/test_a.py::test_skip SKIPPED (no network)                          [ 44%]
Some text PASSED
=================================== FAILURES ===================================
E       assert 1 == 2
=========================== short test summary info ============================
` + "\x1b[32mPASSED\x1b[0m tests/test_a.py::\x1b[1mtest_ok\x1b[0m\r" + `
PASSED tests/test_a.py::test_param[a b-1 - 2]
SKIPPED [1] tests/test_a.py:10: no network
XFAIL tests/test_a.py::test_expected - known
XPASS tests/test_a.py::test_surprise
FAILED tests/test_a.py::test_bad - assert 1 == 2
FAILED tests/test_a.py::test_p[x - y] - ValueError: - x
ERROR tests/test_b.py - ImportError: no module
ERROR tests/test_b.py::test_setup
========================= 3 failed, 3 passed in 0.10s ==========================
`

// Tests of pytest are found in the lines of -v and of the summary, with what each means.
func TestParsePytest(t *testing.T) {
	t.Parallel()
	got := harness.ParsePytest(pytestOutput)
	for name, want := range map[string]harness.Status{
		"test_ok": harness.Passed, "test_verbose_only": harness.Passed, "test_worker": harness.Passed, "test_teardown": harness.Failed, "test_skip": harness.Skipped,
		"test_param[a b-1 - 2]": harness.Passed, "test_param[a": harness.Passed, "test_expected": harness.Passed, "test_surprise": harness.Failed,
		"test_bad": harness.Failed, "test_p[x - y]": harness.Failed, "test_none": harness.Missing,
	} {
		require.Equal(t, want, got["tests/test_a.py::"+name], name)
	}
	require.Equal(t, harness.Failed, got["tests/test_b.py"])
	require.Equal(t, harness.Failed, got["tests/test_b.py::test_setup"])
	require.Empty(t, got["Some"])
}

const unittestOutput = `test_ok (tests.test_calc.TestCalc) ... ok
test_new (tests.test_calc.TestCalc.test_new) ... ok
test_bad (tests.test_calc.TestCalc) ... FAIL
test_doc (tests.test_calc.TestCalc.test_doc)
Adding numbers works ... ok
test_skip (tests.test_calc.TestCalc) ... skipped 'no network'
test_expected (tests.test_calc.TestCalc) ... expected failure
test_surprise (tests.test_calc.TestCalc) ... unexpected success
test_loud (tests.test_calc.TestCalc) ... some output
more output
ok
test_quiet (tests.test_calc.TestCalc) ...
ERROR
test_sub (tests.test_calc.TestCalc) ... ok

======================================================================
FAIL: test_bad (tests.test_calc.TestCalc)
----------------------------------------------------------------------
FAIL: test_sub (tests.test_calc.TestCalc) (n=1)
ERROR: test_import (unittest.loader._FailedTest)
Ran 8 tests in 0.001s

FAILED (failures=2)
`

// Tests of unittest are found under each of the names that datasets have for them.
func TestParseUnittest(t *testing.T) {
	t.Parallel()
	got := harness.ParseUnittest(unittestOutput)
	for name, want := range map[string]harness.Status{
		"test_ok": harness.Passed, "test_new": harness.Passed, "test_bad": harness.Failed, "test_doc": harness.Passed, "test_skip": harness.Skipped,
		"test_expected": harness.Passed, "test_surprise": harness.Failed, "test_loud": harness.Passed, "test_quiet": harness.Failed, "test_sub": harness.Failed, "test_none": harness.Missing,
	} {
		for _, spelling := range []string{name + " (tests.test_calc.TestCalc)", name + " (tests.test_calc.TestCalc." + name + ")", "tests.test_calc.TestCalc." + name} {
			require.Equal(t, want, got[spelling], spelling)
		}
	}
	require.Equal(t, harness.Passed, got["Adding numbers works"])
	require.Equal(t, harness.Failed, got["test_import (unittest.loader._FailedTest)"])
}

// A row names its parser; without one both are used.
func TestParserFor(t *testing.T) {
	t.Parallel()
	both := pytestOutput + unittestOutput
	for parser, want := range map[string][2]bool{"": {true, true}, "parse_log_pytest_v2": {true, false}, "unittest": {false, true}, "parse_log_django": {false, true}} {
		got := harness.ParserFor(dataset.Row{Parser: parser})(both)
		require.Equal(t, want, [2]bool{got["tests/test_a.py::test_ok"] == harness.Passed, got["test_ok (tests.test_calc.TestCalc)"] == harness.Passed}, parser)
	}
}

func FuzzParsers(f *testing.F) {
	f.Add(pytestOutput)
	f.Add(unittestOutput)
	f.Add("FAILED  - \n ... ok\n[gw0] PASSED \n")
	f.Fuzz(func(t *testing.T, output string) {
		for name := range harness.ParserFor(dataset.Row{})(output) {
			require.NotEmpty(t, strings.TrimSpace(name))
		}
	})
}
