package bench

import (
	"fmt"
	"testing"
)

// BenchmarkTurn is one turn, with a history of n messages of 1 KB.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, p := range peers() {
			b.Run(fmt.Sprintf("n=%d/%s", n, p.name), func(b *testing.B) { measure(b, p.turn(b, n)) })
		}
	}
}

// BenchmarkStream is one answer of 2,000 chunks, of text and of a tool's arguments.
func BenchmarkStream(b *testing.B) {
	for kind := range streams {
		for _, p := range peers() {
			b.Run(fmt.Sprintf("%s/%s", kind, p.name), func(b *testing.B) { measure(b, p.stream(b, kind)) })
		}
	}
}

func measure(b *testing.B, once func() error) {
	if err := once(); err != nil { // opens the connection
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := once(); err != nil {
			b.Fatal(err)
		}
	}
}
