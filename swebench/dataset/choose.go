package dataset

import (
	"regexp"
	"strconv"
	"strings"
)

// Filter returns the rows, in their order, whose ID begins with a match of the pattern: it
// is held against the beginning, as the Python agent does it, so that a whole ID needs a $.
// An empty pattern matches all.
func Filter(rows []Row, pattern string) ([]Row, error) {
	if pattern == "" {
		return rows, nil
	}
	expression, err := regexp.Compile(`^(?:` + pattern + `)`)
	if err != nil {
		return nil, fault("", "filter %q: %w; look-around and back references of Python are not known here", pattern, err)
	}
	var kept []Row
	for _, row := range rows {
		if expression.MatchString(row.InstanceID) {
			kept = append(kept, row)
		}
	}
	return kept, nil
}

// Slice returns a part of the rows by a slice of Python: "10" are the first ten, "10:20" the
// ten behind them, "-5:" the last five, "::2" every other one. An empty one is all of them.
func Slice(rows []Row, spec string) ([]Row, error) {
	if strings.TrimSpace(spec) == "" {
		return rows, nil
	}
	parts := strings.Split(spec, ":")
	if len(parts) == 1 {
		parts = []string{"", parts[0]}
	}
	if len(parts) > 3 {
		return nil, fault("", "slice %q has %d parts, want start:stop:step", spec, len(parts))
	}
	var bounds [3]*int
	for i, part := range parts {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, fault("", "slice %q: %q is not an integer", spec, part)
		}
		bounds[i] = &n
	}
	step := 1
	if bounds[2] != nil {
		step = *bounds[2]
	}
	if step == 0 {
		return nil, fault("", "slice %q: its step is 0", spec)
	}
	low, high := 0, len(rows)
	start, stop := low, high
	if step < 0 {
		low, high = -1, len(rows)-1
		start, stop = high, low
	}
	start, stop = bound(bounds[0], start, low, high, len(rows)), bound(bounds[1], stop, low, high, len(rows))
	var kept []Row
	for i := start; (step > 0 && i < stop) || (step < 0 && i > stop); i += step {
		kept = append(kept, rows[i])
		if room := len(rows); step > room || step < -room { // no second one, and no overflow
			break
		}
	}
	return kept, nil
}

func bound(n *int, none, low, high, size int) int {
	if n == nil {
		return none
	}
	i := *n
	if i < 0 {
		if i < -size { // no overflow below
			return low
		}
		i += size
	}
	return min(max(i, low), high)
}
