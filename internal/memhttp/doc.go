// Package memhttp serves HTTP in memory, for tests with a fake clock: inside of a
// testing/synctest bubble time stands still while a goroutine waits for a real
// socket, and goes on while it waits for these connections.
package memhttp
