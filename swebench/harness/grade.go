package harness

import (
	"encoding/json"
)

// outcome are the tests of a list that did as they should, and the others.
type outcome struct {
	Success []string `json:"success"`
	Failure []string `json:"failure"`
}

// testsStatus is what a report says of the tests. The last two are for tests that fail with
// the solution; rows do not have such lists.
type testsStatus struct {
	FailToPass outcome `json:"FAIL_TO_PASS"`
	PassToPass outcome `json:"PASS_TO_PASS"`
	FailToFail outcome `json:"FAIL_TO_FAIL"`
	PassToFail outcome `json:"PASS_TO_FAIL"`
}

// grade holds what the tests did against what they should do. A test passes if it is there
// and passed: one that is missing, or was skipped, did not.
func grade(failToPass, passToPass []string, status map[string]Status) (tests testsStatus, resolved bool) {
	sort := func(names []string) outcome {
		o := outcome{Success: []string{}, Failure: []string{}}
		for _, name := range names {
			if status[name] == Passed {
				o.Success = append(o.Success, name)
			} else {
				o.Failure = append(o.Failure, name)
			}
		}
		return o
	}
	tests = testsStatus{FailToPass: sort(failToPass), PassToPass: sort(passToPass), FailToFail: sort(nil), PassToFail: sort(nil)}
	return tests, len(tests.FailToPass.Failure)+len(tests.PassToPass.Failure) == 0
}

// instanceReport is the report of one instance.
func instanceReport(id string, resolved bool, tests testsStatus) ([]byte, error) {
	return json.MarshalIndent(map[string]any{id: struct {
		None     bool        `json:"patch_is_None"`
		Exists   bool        `json:"patch_exists"`
		Applied  bool        `json:"patch_successfully_applied"`
		Resolved bool        `json:"resolved"`
		Tests    testsStatus `json:"tests_status"`
	}{false, true, true, resolved, tests}}, "", "    ")
}
