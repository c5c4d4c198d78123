module github.com/homing-go/homing/internal/compat/fantasy

go 1.26.6

require (
	charm.land/fantasy v0.42.0
	github.com/homing-go/homing v0.0.0
	github.com/homing-go/homing/internal/compat v0.0.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/charmbracelet/x/exp/slice v0.0.0-20250904123553-b4e2667e5ad5 // indirect
	github.com/go-json-experiment/json v0.0.0-20260623181947-01eb4420fa68 // indirect
	github.com/go-viper/mapstructure/v2 v2.5.0 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/kaptinlin/jsonpointer v0.4.28 // indirect
	github.com/kaptinlin/jsonschema v0.9.8 // indirect
	github.com/openai/openai-go/v3 v3.98.0 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)

replace (
	github.com/homing-go/homing => ../../..
	github.com/homing-go/homing/internal/compat => ..
)

// homing asks for v3.98.0, with which fantasy v0.42.0 does not build:
// ResponseInputItemParamOfFunctionCallOutput takes one argument there.
replace github.com/openai/openai-go/v3 => github.com/openai/openai-go/v3 v3.50.0
