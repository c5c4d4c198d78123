module github.com/homing-go/homing/internal/compat/genkit

go 1.26.0

require (
	github.com/homing-go/homing v0.0.0
	github.com/homing-go/homing/internal/compat v0.0.0
)

replace (
	github.com/homing-go/homing => ../../..
	github.com/homing-go/homing/internal/compat => ..
)
