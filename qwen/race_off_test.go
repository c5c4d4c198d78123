//go:build !race

package qwen_test

// underRace tells that the race detector is on, which changes what things cost.
const underRace = false
