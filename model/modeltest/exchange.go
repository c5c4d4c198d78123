package modeltest

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// exchange is a request under way. Errors of writing are not looked at: a client that
// went away is a thing that tests provoke.
type exchange struct {
	request Recorded
	number  int // of the request, from 1
	conn    net.Conn
	w       *bufio.Writer
	gone    <-chan struct{} // closed when the client closes the connection
	stop    <-chan struct{} // closed when the server ends
	closing bool            // the connection is not used again
}

// whole writes a response in one piece.
func (x *exchange) whole(code int, header http.Header, body string) {
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if header.Get("Content-Type") == "" && strings.HasPrefix(body, "{") {
		header.Set("Content-Type", "application/json")
	}
	if header.Get("Content-Length") == "" && code >= 200 && code != http.StatusNoContent && code != http.StatusNotModified {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.head(code, header)
	_, _ = x.w.WriteString(body)
	_ = x.w.Flush()
}

func (x *exchange) head(code int, header http.Header) {
	text := http.StatusText(code)
	if text == "" {
		text = "Status"
	}
	fmt.Fprintf(x.w, "HTTP/1.1 %d %s\r\n", code, text)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, v := range header[name] {
			fmt.Fprintf(x.w, "%s: %s\r\n", name, v)
		}
	}
	_, _ = x.w.WriteString("\r\n")
}

// events writes the beginning of a stream, each event in a chunk of its own, so that
// the client gets it at once.
func (x *exchange) events(data ...string) {
	x.head(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}, "Transfer-Encoding": {"chunked"}})
	_ = x.w.Flush()
	for _, d := range data {
		x.chunk("data: " + d + "\n\n")
	}
}

func (x *exchange) chunk(text string) {
	fmt.Fprintf(x.w, "%x\r\n%s\r\n", len(text), text)
	_ = x.w.Flush()
}

// finish ends the body of a stream as HTTP wants it.
func (x *exchange) finish() {
	_, _ = x.w.WriteString("0\r\n\r\n")
	_ = x.w.Flush()
}

// drop closes the connection where it is.
func (x *exchange) drop() {
	x.closing = true
	_ = x.w.Flush()
	_ = x.conn.Close()
}
