package harness_test

import (
	"fmt"

	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
)

// A report is read from any version of the harness, and says what its score lacks.
func Example() {
	report, err := harness.ParseReport([]byte(`{"submitted_instances": 3, "resolved_instances": 1,
		"resolved_ids": ["a"], "error_instances": 1, "error_ids": ["b"], "incomplete_ids": ["d"],
		"infra_failure_ids": ["b"], "failure_reasons": {"b": "image_pull_failed"}}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(report.ResolvedInstances, report.Complete())
	for _, reason := range report.Reasons() {
		fmt.Println(reason.Code, reason.Text)
	}
	// Output:
	// 1 false
	// infra_failures 1 instances failed for reasons that are not the model's; run them again: b
	// missing_predictions 1 instances have no prediction: d
}

func ExampleParserFor() {
	parse := harness.ParserFor(dataset.Row{Parser: "pytest"})
	status := parse("PASSED test_calc.py::test_add\nFAILED test_calc.py::test_sub - assert 1 == 2\n")
	fmt.Println(status["test_calc.py::test_add"] == harness.Passed, status["test_calc.py::test_sub"] == harness.Failed)
	// Output: true true
}
