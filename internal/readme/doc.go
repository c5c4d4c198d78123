// Package readme holds the snippets of README.md as code that is compiled and run, and
// the test that compares them with the text.
package readme
