//go:build !unix

package atomicfile

const nonblock = 0
