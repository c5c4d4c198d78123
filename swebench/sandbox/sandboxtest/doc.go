// Package sandboxtest helps to test what runs in sandboxes: it tells which engines work here,
// and makes small root folders and images without a registry.
package sandboxtest
