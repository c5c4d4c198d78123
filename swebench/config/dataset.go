package config

import (
	"path"
	"slices"
	"strings"

	"github.com/homing-go/homing/swebench"
	"go.yaml.in/yaml/v3"
)

// ScorerMethod is the eval_method of a dataset that the SWE-bench service scores.
const ScorerMethod = "swe_bench_scorer"

// datasetID is the SWE-bench dataset, which has nothing to measure the speed of.
const datasetID = "swe_bench"

// The types of a dataset.
const (
	Performance = "performance"
	Accuracy    = "accuracy"
)

// A Dataset is one entry of datasets.
type Dataset struct {
	Name string
	Type string // Performance or Accuracy
	Path string // "" if there is none
	// EvalMethod is that of accuracy_config; "" if there is none.
	EvalMethod string
	// GroundTruth is the column of the instance IDs; "" means instance_id.
	GroundTruth string
	// Model are the effective parameters: model_params under generation_config_override.
	Model ModelParams
	// Agentic is nil unless the dataset has an agentic_inference block.
	Agentic *Agentic

	scoring []pair // of accuracy_config
}

// Agentic is the agentic_inference block of a performance dataset.
type Agentic struct {
	// RoutingHeaders is never nil; empty means that routing is off.
	RoutingHeaders  []string
	EnableSalt      bool
	InjectToolDelay bool
	// Trajectories is num_trajectories_to_issue; 0 means one for each conversation.
	Trajectories int
}

// UsesScorer reports whether the SWE-bench service scores the dataset.
func (d Dataset) UsesScorer() bool { return d.EvalMethod == ScorerMethod }

func isSWEBench(name string) bool {
	return name == datasetID || strings.HasPrefix(name, datasetID+"::")
}

func (r *reader) dataset(key string, n *yaml.Node, base []pair) (d Dataset, err error) {
	pairs, err := r.mapping(key, n)
	if err != nil {
		return d, err
	}
	if err = r.identify(key, pairs, &d); err != nil {
		return d, err
	}
	err = known(key, pairs, "name type path format samples eval_method parser generate_params accuracy_config agentic_inference generation_config_override")
	if err == nil {
		err = r.accuracy(join(key, "accuracy_config"), find(pairs, "accuracy_config"), &d)
	}
	if err == nil {
		err = r.effective(join(key, "generation_config_override"), find(pairs, "generation_config_override"), base, &d)
	}
	if block := find(pairs, "agentic_inference"); err == nil && !isNull(block) {
		d.Agentic, err = r.agentic(join(key, "agentic_inference"), block)
		if err == nil && d.Type != Performance {
			err = fault(join(key, "agentic_inference"), "only a performance dataset can have this block; accuracy datasets inherit its names")
		}
	}
	if err == nil && d.Type == Performance && isSWEBench(d.Name) {
		err = fault(join(key, "type"), "%s can only be an accuracy dataset; set type: accuracy", datasetID)
	}
	return d, named(err, d.Name)
}

// identify reads what the errors about a dataset name it by.
func (r *reader) identify(key string, pairs []pair, d *Dataset) (err error) {
	if d.Name, err = r.optional(join(key, "name"), find(pairs, "name")); err != nil {
		return err
	}
	if d.Path, err = r.optional(join(key, "path"), find(pairs, "path")); err != nil {
		return named(err, d.Name)
	}
	d.Name, d.Path = strings.TrimSpace(d.Name), strings.TrimSpace(d.Path)
	if d.Name == "" && d.Path != "" {
		base := path.Base(d.Path)
		d.Name = strings.TrimSuffix(base, path.Ext(base))
	}
	if d.Name == "" {
		return fault(join(key, "name"), "the dataset has neither name nor path")
	}
	if d.Type, err = r.optional(join(key, "type"), find(pairs, "type")); err != nil {
		return named(err, d.Name)
	}
	switch d.Type {
	case "":
		d.Type = Performance
	case Performance, Accuracy:
	default:
		return named(fault(join(key, "type"), `it is "%s"; want %s or %s`, short(d.Type), Performance, Accuracy), d.Name)
	}
	return nil
}

func (r *reader) accuracy(key string, n *yaml.Node, d *Dataset) (err error) {
	var pairs []pair
	if !isNull(n) {
		if pairs, err = r.mapping(key, n); err != nil {
			return err
		}
	}
	if method := find(pairs, "eval_method"); !isNull(method) {
		if d.EvalMethod, err = r.text(join(key, "eval_method"), method); err != nil {
			return err
		}
	}
	if d.EvalMethod == "" && d.Type == Accuracy && isSWEBench(d.Name) {
		d.EvalMethod = ScorerMethod
	}
	if !d.UsesScorer() {
		return nil
	}
	d.scoring = pairs
	if d.GroundTruth, err = r.optional(join(key, "ground_truth"), find(pairs, "ground_truth")); err != nil {
		return err
	}
	return known(key, pairs, "eval_method ground_truth extractor num_repeats extras")
}

func (r *reader) effective(key string, n *yaml.Node, base []pair, d *Dataset) (err error) {
	if isNull(n) {
		d.Model, err = r.model("model_params", base)
		return err
	}
	over, err := r.mapping(key, n)
	if err != nil {
		return err
	}
	for _, p := range over {
		if slices.Contains(strings.Fields(identityKeys), p.name) {
			return fault(join(key, p.name), "it belongs to the whole run; set it in model_params")
		}
	}
	if err := known(key, over, generationKeys); err != nil {
		return err
	}
	merged, err := r.override(key, base, over)
	if err == nil {
		d.Model, err = r.model(key, merged)
	}
	return err
}

func (r *reader) agentic(key string, n *yaml.Node) (*Agentic, error) {
	pairs, err := r.mapping(key, n)
	if err != nil {
		return nil, err
	}
	if err := known(key, pairs, "turn_timeout_s enable_salt inject_tool_delay routing_headers num_trajectories_to_issue stop_issuing_on_first_user_complete"); err != nil {
		return nil, err
	}
	a := &Agentic{RoutingHeaders: swebench.DefaultHeaderNames()}
	if names := find(pairs, "routing_headers"); names != nil {
		if a.RoutingHeaders, err = r.headerNames(join(key, "routing_headers"), names); err != nil {
			return nil, err
		}
	}
	if a.EnableSalt, err = r.boolean(join(key, "enable_salt"), find(pairs, "enable_salt")); err != nil {
		return nil, err
	}
	if a.InjectToolDelay, err = r.boolean(join(key, "inject_tool_delay"), find(pairs, "inject_tool_delay")); err != nil {
		return nil, err
	}
	if count := find(pairs, "num_trajectories_to_issue"); !isNull(count) {
		key := join(key, "num_trajectories_to_issue")
		if a.Trajectories, err = r.count(key, count); err == nil && a.Trajectories < 1 {
			err = fault(key, "it is %d; want 1 or more", a.Trajectories)
		}
	}
	return a, err
}

func (r *reader) headerNames(key string, n *yaml.Node) ([]string, error) {
	list, err := r.follow(n)
	if err != nil {
		return nil, err
	}
	if list.Kind != yaml.SequenceNode {
		return nil, fault(key, "it is %s; want a list of header names, [] to switch routing off", kindName(list))
	}
	names := []string{}
	for _, c := range list.Content {
		name, err := r.text(key, c)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if names, err = swebench.HeaderNames(names); err != nil {
		return nil, fault(key, "%s", strings.TrimPrefix(err.Error(), "routing: "))
	}
	return names, nil
}

// boolean reads a boolean, also in the words of YAML 1.1; absent is false.
func (r *reader) boolean(key string, n *yaml.Node) (bool, error) {
	if isNull(n) {
		return false, nil
	}
	s, _, err := r.scalar(key, n)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, fault(key, `it is "%s"; want true or false`, short(s))
}
