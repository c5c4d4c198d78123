package swebench

import (
	"slices"
	"strings"

	"github.com/homing-go/homing/routing"
)

// HeaderNames checks names of session headers, as routing.HeaderConfig does, and returns
// them without those that differ from an earlier one only in case. nil stays nil, and an
// empty list, which switches routing off, stays an empty list. The error is a
// *routing.HeaderError.
func HeaderNames(names []string) ([]string, error) {
	if names == nil {
		return nil, nil
	}
	if _, err := (routing.HeaderConfig{Names: names}).Carrier(); err != nil {
		return nil, err
	}
	kept := []string{}
	for _, name := range names {
		if !slices.ContainsFunc(kept, func(k string) bool { return strings.EqualFold(k, name) }) {
			kept = append(kept, name)
		}
	}
	return kept, nil
}

// DefaultHeaderNames is what a request without routing_headers means.
func DefaultHeaderNames() []string { return []string{routing.DefaultHeader} }
