//go:build !race

package model_test

// fewer divides the sizes of what is slow under the race detector.
const fewer = 1
