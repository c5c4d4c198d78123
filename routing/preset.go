package routing

import (
	"fmt"
	"strings"
)

// Preset returns the carrier for a router by the router's name. On error the
// carrier is not nil and fails every request, as with [Header].
//
//	generic    the header X-Session-ID
func Preset(name string, args ...string) (Carrier, error) {
	switch {
	case name != "generic":
		err := fmt.Errorf("routing: no preset is named %q; there is %q", name, "generic")
		return failing{err: err}, err
	case len(args) > 0:
		err := fmt.Errorf("routing: preset %q takes no arguments, got %q; Header takes names", name, strings.Join(args, " "))
		return failing{err: err}, err
	}
	return generic, nil
}

var generic Carrier = &headers{names: []string{DefaultHeader}}

// orGeneric is what a nil carrier means everywhere.
func orGeneric(c Carrier) Carrier {
	if c == nil {
		return generic
	}
	return c
}
