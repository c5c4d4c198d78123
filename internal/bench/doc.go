// Package bench measures homing beside its peers in one run: openai-go and go-openai
// with typed parameters, and the floor, which is net/http with a body that was encoded
// beforehand. The server runs in a process of its own, so that bytes and allocations
// are the client's alone.
//
//	go test -bench . -benchtime 1s
//
// Times on a busy machine vary; compare within one run only.
package bench
