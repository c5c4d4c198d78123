package swebench

import (
	"fmt"
	"slices"

	"github.com/homing-go/homing/internal/rawjson"
)

// APIVersion is the version of the protocol that this package speaks.
const APIVersion = "v1"

// Capabilities that a service may list in its [Health]: first those of the Python
// service, in its order, then those of this project.
const (
	CapRun              = "swebench.run"
	CapCancel           = "swebench.cancel"
	CapArtifacts        = "artifacts.download"
	CapProgress         = "swebench.progress"
	CapRoutingHeaders   = "swebench.routing_headers"
	CapIdempotentSubmit = "swebench.idempotent_submit" // the same IdempotencyHeader never starts a second run
	CapListRuns         = "swebench.list_runs"         // GET /v1/runs
)

// IdempotencyHeader carries a key that is the same on every attempt of one submission.
const IdempotencyHeader = "Idempotency-Key"

// Health is the answer to GET /health.
type Health struct {
	APIVersion   string   `json:"api_version"`
	Capabilities []string `json:"capabilities"`
	Status       string   `json:"status"`
}

// A HealthError tells why an answer to GET /health is not that of a service that this
// package can talk to.
type HealthError struct {
	Reason string
}

func (e *HealthError) Error() string { return "swebench: health: " + e.Reason }

// ParseHealth reads the answer to GET /health. It must be an object whose api_version is
// [APIVersion] and whose capabilities are a list of strings; status and whatever else is
// there does not matter. The error is a *[HealthError].
func ParseHealth(body []byte) (Health, error) {
	m, err := lastMembers(body)
	if err != nil {
		return Health{}, &HealthError{Reason: err.Error()}
	}
	h := Health{APIVersion: rawjson.Text(m["api_version"]), Status: rawjson.Text(m["status"])}
	if version := m["api_version"]; h.APIVersion != APIVersion {
		return Health{}, &HealthError{Reason: fmt.Sprintf("api_version is %s, this client speaks %q", shown(version), APIVersion)}
	}
	list := m["capabilities"]
	if rawjson.Kind(list) != '[' {
		return Health{}, &HealthError{Reason: fmt.Sprintf("capabilities is %s, want a list of strings", shown(list))}
	}
	h.Capabilities = []string{}
	for a := rawjson.Elements(list); a.Next(); {
		if rawjson.Kind(a.Value) != '"' {
			return Health{}, &HealthError{Reason: fmt.Sprintf("capability %d is %s, want a string", len(h.Capabilities)+1, shown(a.Value))}
		}
		h.Capabilities = append(h.Capabilities, rawjson.Text(a.Value))
	}
	return h, nil
}

// Has reports whether the service lists capability.
func (h Health) Has(capability string) bool { return slices.Contains(h.Capabilities, capability) }

// Missing returns those of capabilities that the service does not list, sorted; nil if
// it lists them all.
func (h Health) Missing(capabilities ...string) []string {
	var missing []string
	for _, c := range capabilities {
		if !h.Has(c) {
			missing = append(missing, c)
		}
	}
	slices.Sort(missing)
	return missing
}
