package harness_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// stubPlan is the variable with the plan of the process that stands in for the Python
// harness.
const stubPlan = "HOMING_HARNESS_STUB"

// noLinger keeps a stub with the race detector from staying for a second after its end.
const noLinger = "GORACE=atexit_sleep_ms=0"

// plan is what the stub does.
type plan struct {
	// Version is 4 or 5.
	Version int
	// Outcomes of instances: resolved, unresolved, error, patch, timeout, infra, ambiguous,
	// hang, broken (a report that is cut).
	Outcomes map[string]string
	// Place is where the report goes: "" as documented, nested, two, none, results, or text
	// that is written in its place.
	Place string
	// Without are members that the report does not have, Set replaces some.
	Without []string
	Set     map[string]any
	// Exit is the code, once everything is written.
	Exit int
	// Docker adds the members that version 4 writes when it has no Docker client.
	Docker bool
}

// stub does what the Python harness would.
func stub(text string, args []string) int {
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		fmt.Println(err)
		return 70
	}
	options := map[string][]string{}
	name := ""
	for _, arg := range args {
		if strings.HasPrefix(arg, "--") {
			name = strings.TrimPrefix(arg, "--")
			options[name] = nil
		} else {
			options[name] = append(options[name], arg)
		}
	}
	fmt.Println("arguments:", strings.Join(args, " "))
	fmt.Println("key:", os.Getenv("OPENAI_API_KEY"), "token=abc123", os.Getenv("HIDDEN"))
	if len(args) == 0 {
		return 2
	}
	run := options["run_id"][0]
	var predictions map[string]struct {
		Model string  `json:"model_name_or_path"`
		ID    string  `json:"instance_id"`
		Patch *string `json:"model_patch"`
	}
	data, err := os.ReadFile(options["predictions_path"][0])
	if err == nil {
		err = json.Unmarshal(data, &predictions)
	}
	if err != nil || len(predictions) == 0 {
		fmt.Println("predictions cannot be read", err)
		return 1
	}
	lists := map[string][]string{}
	for _, key := range []string{"completed", "incomplete", "empty_patch", "submitted", "resolved", "unresolved", "error", "infra_failure", "ambiguous_failure"} {
		lists[key] = []string{}
	}
	add := func(key, id string) { lists[key] = append(lists[key], id) }
	reasons, model := map[string]string{}, ""
	for id, prediction := range predictions {
		model = strings.ReplaceAll(prediction.Model, "/", "__")
		add("submitted", id)
	}
	for _, id := range options["instance_ids"] {
		prediction, ok := predictions[id]
		if !ok {
			add("incomplete", id)
			continue
		}
		if prediction.Patch == nil || *prediction.Patch == "" {
			add("empty_patch", id)
			continue
		}
		root := "run_evaluation"
		if p.Version == 5 {
			root = "evaluation"
		}
		dir := filepath.Join("logs", root, run, model, id)
		if old, err := os.ReadFile(filepath.Join(dir, "report.json")); err == nil {
			add("completed", id)
			if strings.Contains(string(old), `"resolved": true`) {
				add("resolved", id)
			} else {
				add("unresolved", id)
			}
			continue
		}
		note("ran", id)
		_ = os.MkdirAll(dir, 0o755)
		log := func(name, text string) { // as a whole: a test may end the stub as soon as it sees the file
			_ = os.WriteFile(filepath.Join(dir, "."+name), []byte(text), 0o644)
			_ = os.Rename(filepath.Join(dir, "."+name), filepath.Join(dir, name))
		}
		log("patch.diff", *prediction.Patch)
		log("run_instance.log", "started\n")
		switch outcome := p.Outcomes[id]; outcome {
		case "resolved", "unresolved", "ambiguous":
			add("completed", id)
			key := "unresolved"
			if outcome == "resolved" {
				key = "resolved"
			}
			add(key, id)
			log("report.json", fmt.Sprintf(`{"%s": {"patch_is_None": false, "resolved": %t}}`, id, outcome == "resolved"))
			if outcome == "ambiguous" && p.Version == 5 {
				add("ambiguous_failure", id)
				reasons[id] = "no_tests_ran"
			}
		case "infra":
			add("error", id)
			if p.Version == 5 {
				add("infra_failure", id)
				reasons[id] = "image_pull_failed"
			}
		case "broken":
			add("error", id)
			log("report.json", `{"`)
		case "patch":
			add("error", id)
			log("run_instance.log", "started\n>>>>> Patch Apply Failed:\nhunk 1\n")
		case "timeout":
			add("error", id)
			log("test_output.txt", "\xff\n\nTimeout error: 1800 seconds exceeded.")
		case "late":
			add("error", id)
			log("run_instance.log", "Test timed out after 1800 seconds.\n")
		case "hang":
			for range 6000 {
				if data, _ := os.ReadFile("removed"); strings.Contains(string(data), "sweb.eval."+id) {
					break // its container is gone
				}
				time.Sleep(10 * time.Millisecond)
			}
			add("error", id)
		default:
			add("error", id)
		}
	}
	report := map[string]any{"total_instances": len(options["instance_ids"]), "schema_version": 2}
	for key, ids := range lists {
		if p.Version != 5 && (key == "infra_failure" || key == "ambiguous_failure") {
			continue
		}
		slices.Sort(ids)
		report[key+"_ids"] = ids
		if key != "incomplete" {
			report[key+"_instances"] = len(ids)
		}
	}
	if p.Version == 5 {
		report["failure_reasons"] = reasons
		note("logs/evaluation/"+run+"/run.json", "{}")
	}
	if p.Docker {
		report["unstopped_instances"], report["unstopped_containers"], report["unremoved_images"] = 0, []string{}, []string{"img:1"}
	}
	for _, key := range p.Without {
		delete(report, key)
	}
	for key, value := range p.Set {
		report[key] = value
	}
	body, _ := json.MarshalIndent(report, "", "    ")
	usual := model + "." + run + ".json"
	switch p.Place {
	case "":
		note(usual, string(body))
	case "nested":
		note(filepath.Join("reports", "x."+usual), string(body))
	case "two":
		note(filepath.Join("reports", "1."+run+".json"), string(body))
		note(filepath.Join("reports", "2."+run+".json"), string(body))
	case "results":
		note(filepath.Join("logs", "evaluation", run, "results.json"), string(body))
	case "none":
	default:
		note(usual, p.Place)
	}
	return p.Exit
}

// note appends a line to a file.
func note(name, text string) {
	_ = os.MkdirAll(filepath.Dir(name), 0o755)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		fmt.Fprintln(f, text)
		_ = f.Close()
	}
}
