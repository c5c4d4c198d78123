// Package config reads the YAML of a benchmark into typed values: its datasets, model
// parameters, endpoint, load pattern, the options of the SWE-bench scorer and the names of
// the session headers. It opens no connection.
//
// The files are those of the Python benchmark. What this package does with them:
//
//   - The parts that it owns are held to their keys: a dataset, its accuracy_config and
//     extras if the dataset uses the SWE-bench scorer, agentic_inference, model_params,
//     generation_config_override, endpoint_config and settings.load_pattern. An unknown key
//     in them is an error that names it, and the dataset; everything else passes unread.
//   - A name that stands twice in one mapping, a second document, more than 1 MiB and
//     aliases that unfold to more than 100,000 values are refused anywhere in the file.
//   - Texts may refer to the environment as ${NAME}, ${NAME:-default} and $NAME; $$ is a
//     dollar sign. A variable that is not set is an error that names it.
//   - Without quotes yes, no, on and off are booleans, as in YAML 1.1.
//   - Integers of extras are read as Python's int() reads them ("10" is 10, 10.9 is 10, true
//     is 1); null takes the default, but subset and split become the text None.
//   - The names of session headers come from the agentic_inference block of the performance
//     dataset, whatever the order of the datasets and the mode; see [RoutingHeaders]. Two
//     blocks with different names are refused, because the order would decide. The names are
//     checked as routing does, and extras cannot set them.
//   - A dataset uses the scorer if its eval_method is [ScorerMethod], which is what an accuracy
//     dataset named swe_bench has without one.
//
// go.yaml.in/yaml/v3 reads the YAML: it is what the YAML organisation keeps, it has the
// nodes with their lines that the errors need, and the module has it anyway, by testify.
package config
