package swebench

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
)

// MaxRequestBytes is how long the body of a submission may be.
const MaxRequestBytes = 1 << 20

// maxInteger bounds the integers of a request, so that they fit an int everywhere.
const maxInteger = 1<<31 - 1

const maxInstanceID = 200

// RunRequest is the body of POST /v1/runs.
type RunRequest struct {
	ModelName string
	// EndpointURLs is the one OpenAI-compatible server, as the service reaches it.
	EndpointURLs   []string
	EndpointAPIKey *string
	// RoutingHeaders are the names under which agents send their session. nil leaves the
	// key out, for services that do not know it; an empty list that is not nil is sent as
	// [], which switches routing off.
	RoutingHeaders []string
	// GenerationParams is an object, kept byte for byte; nil means {}.
	GenerationParams     json.RawMessage
	Subset               string // "verified" or "lite"
	Split                string
	NumInstances         int // the number of EvaluatedInstanceIDs
	Workers              int
	MaxEvalWorkers       int
	EvaluatedInstanceIDs []string
	Template             string // "default" or "qwen_tools"
}

// MarshalJSON writes every key, routing_headers only if it is not nil. It escapes no more
// than JSON needs. Call it directly for the wire: json.Marshal would go over its bytes
// again and change those of GenerationParams.
func (r *RunRequest) MarshalJSON() ([]byte, error) {
	b := []byte(`{"model_name":`)
	b = rawjson.AppendQuoted(b, r.ModelName)
	b = appendStrings(append(b, `,"endpoint_urls":`...), r.EndpointURLs)
	b = append(b, `,"endpoint_api_key":`...)
	if r.EndpointAPIKey == nil {
		b = append(b, "null"...)
	} else {
		b = rawjson.AppendQuoted(b, *r.EndpointAPIKey)
	}
	b = append(b, `,"generation_params":`...)
	if len(r.GenerationParams) == 0 {
		b = append(b, "{}"...)
	} else {
		b = append(b, r.GenerationParams...)
	}
	b = rawjson.AppendQuoted(append(b, `,"subset":`...), r.Subset)
	b = rawjson.AppendQuoted(append(b, `,"split":`...), r.Split)
	b = strconv.AppendInt(append(b, `,"num_instances":`...), int64(r.NumInstances), 10)
	b = strconv.AppendInt(append(b, `,"workers":`...), int64(r.Workers), 10)
	b = strconv.AppendInt(append(b, `,"max_eval_workers":`...), int64(r.MaxEvalWorkers), 10)
	b = appendStrings(append(b, `,"evaluated_instance_ids":`...), r.EvaluatedInstanceIDs)
	b = rawjson.AppendQuoted(append(b, `,"template":`...), r.Template)
	if r.RoutingHeaders != nil {
		b = appendStrings(append(b, `,"routing_headers":`...), r.RoutingHeaders)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON is [ParseRunRequest].
func (r *RunRequest) UnmarshalJSON(data []byte) error {
	parsed, err := ParseRunRequest(data)
	if err == nil {
		*r = *parsed
	}
	return err
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendQuoted(dst, s)
	}
	return append(dst, ']')
}

// Validate checks what [ParseRunRequest] checks, for a request that was made here. The
// error is a *[RequestError].
func (r *RunRequest) Validate() error {
	if r.ModelName == "" {
		return refuse("model_name", "it is empty; name the model as the endpoint knows it")
	}
	if len(r.EndpointURLs) != 1 {
		return refuse("endpoint_urls", fmt.Sprintf("it has %d URLs; send exactly one", len(r.EndpointURLs)))
	}
	if fault := endpointFault(r.EndpointURLs[0]); fault != "" {
		return refuse("endpoint_urls", fault+"; send one http or https URL")
	}
	if _, err := HeaderNames(r.RoutingHeaders); err != nil {
		return refuse("routing_headers", err.Error())
	}
	if len(r.GenerationParams) > 0 {
		if params, err := object(r.GenerationParams); err != nil {
			return refuse("generation_params", strings.Replace(err.Error(), "the body", "it", 1))
		} else if name := duplicate(params); name != "" {
			return refuse("generation_params", fmt.Sprintf("it has the name %q twice; leave one out", name))
		}
	}
	if r.Subset != "verified" && r.Subset != "lite" {
		return refuse("subset", fmt.Sprintf(`it is "%s"; send "verified" or "lite"`, short(r.Subset)))
	}
	if r.Template != "default" && r.Template != "qwen_tools" {
		return refuse("template", fmt.Sprintf(`it is "%s"; send "default" or "qwen_tools"`, short(r.Template)))
	}
	for _, n := range []struct {
		field string
		value int
	}{{"num_instances", r.NumInstances}, {"workers", r.Workers}, {"max_eval_workers", r.MaxEvalWorkers}} {
		if n.value < 1 || n.value > maxInteger {
			return refuse(n.field, fmt.Sprintf("it is %d; send an integer from 1 to %d", n.value, maxInteger))
		}
	}
	if err := checkIDs(r.EvaluatedInstanceIDs); err != nil {
		return err
	}
	if r.NumInstances != len(r.EvaluatedInstanceIDs) {
		return refuse("num_instances", fmt.Sprintf("it is %d, but evaluated_instance_ids has %d; send the same number", r.NumInstances, len(r.EvaluatedInstanceIDs)))
	}
	return nil
}

func checkIDs(ids []string) error {
	const field = "evaluated_instance_ids"
	if len(ids) == 0 {
		return refuse(field, "it is empty; send at least one ID")
	}
	seen := make(map[string]bool, len(ids))
	for i, id := range ids {
		if fault := InstanceIDFault(id); fault != "" {
			return refuse(field, fmt.Sprintf(`ID %d, "%s", %s`, i+1, short(id), fault))
		}
		if seen[id] {
			return refuse(field, fmt.Sprintf(`it has "%s" twice; send each ID once`, short(id)))
		}
		seen[id] = true
	}
	return nil
}

// InstanceIDFault tells why id cannot be an instance's ID, which becomes a file name and
// a command line argument; "" if it can.
func InstanceIDFault(id string) string {
	switch {
	case id == "":
		return "is empty"
	case len(id) > maxInstanceID:
		return fmt.Sprintf("has %d bytes, the limit is %d", len(id), maxInstanceID)
	case !utf8.ValidString(id):
		return "is not UTF-8"
	case id[0] == '-':
		return `begins with "-", which commands take for an option`
	case id == "." || id == ".." || strings.ContainsAny(id, `/\`):
		return "cannot be the name of a file"
	case strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "has a control character"
	}
	return ""
}

// endpointFault tells why s cannot be an endpoint, without showing it; "" if it can.
// Credentials, query and fragment are allowed here: the service strips them.
func endpointFault(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "it is not a URL"
	case !slices.Contains([]string{"http", "https"}, u.Scheme): // Parse has put it in lower case
		return fmt.Sprintf(`it has the scheme "%s"`, short(u.Scheme))
	case u.Hostname() == "":
		return "it has no host"
	case u.Port() != "":
		if n, err := strconv.ParseUint(u.Port(), 10, 32); err != nil || n > 65535 {
			return "its port is above 65535"
		}
	}
	return ""
}
