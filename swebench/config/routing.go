package config

import "github.com/homing-go/homing/swebench"

// RoutingHeaders returns the names of the session headers that all of a benchmark's
// requests carry: those of the performance dataset that has an agentic_inference block, an
// empty list staying empty; if none has one, the default. The order of the datasets, the
// mode and what the accuracy datasets say do not matter.
func RoutingHeaders(datasets []Dataset) []string {
	for _, d := range datasets {
		if d.Type == Performance && d.Agentic != nil {
			return d.Agentic.RoutingHeaders
		}
	}
	return swebench.DefaultHeaderNames()
}
