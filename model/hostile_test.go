package model_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/stretchr/testify/require"
)

// hostility is a server that means harm, and what may come of it.
type hostility struct {
	name   string
	speak  func(c net.Conn)
	limits model.Limits
	// plain and stream are the kinds of the errors of the two calls; 0 is an answer.
	plain, stream model.Kind
	// names is a part of the error's text; the limit that ended it, where it was one.
	names string
	// most bounds the bytes that one call allocates in sum, those of the server included: a
	// few times the limit that ends it.
	most int
	// ends is the deadline of the context, where that is what ends a call.
	ends time.Duration
}

const (
	head      = "HTTP/1.1 200 OK\r\nContent-Type: "
	plainHead = head + "application/json\r\n"
	sseHead   = head + "text/event-stream\r\n"
	kib, mib  = 1 << 10, 1 << 20
)

// written is a server that writes one text.
func written(header, body string) func(net.Conn) {
	return func(c net.Conn) { _, _ = io.WriteString(c, header+"\r\n"+body) }
}

// Whatever a server does to a call, it ends: in time, within the limits, with a typed error
// or a sound answer, and with no goroutine left.
func TestHostileConnections(t *testing.T) {
	calm(t)
	small := model.Limits{ResponseBytes: mib, LineBytes: 256 * kib, FirstByte: 2 * time.Second, Idle: 2 * time.Second}
	hasty := model.Limits{FirstByte: 50 * time.Millisecond, Idle: 50 * time.Millisecond}
	word := "data: " + wordChunk + "\n\n"
	whole := word + "data: " + stopChunk + "\n\n"
	longHeader := "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", mib)
	cutZip := plainHead + "Content-Encoding: gzip\r\n\r\n" + zipped(okAnswer)[:60]
	bomb := func(c net.Conn, header, begin string) {
		_, _ = io.WriteString(c, header+"Content-Encoding: gzip\r\n\r\n")
		z, _ := gzip.NewWriterLevel(c, gzip.BestSpeed)
		_, _ = io.WriteString(z, begin)
		pour(z, " ")
	}
	for _, h := range []hostility{
		{name: "endless header", speak: func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			flood(c, "X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")
		}, plain: model.KindTransport, stream: model.KindTransport, most: 64 * mib},
		{name: "endless header line", speak: func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX-A: "); flood(c, "a") }, plain: model.KindTransport, stream: model.KindTransport, most: 64 * mib},
		{name: "endless status line", speak: func(c net.Conn) { flood(c, "H") }, plain: model.KindTransport, stream: model.KindTransport, most: 64 * mib},
		{name: "1xx without end", speak: func(c net.Conn) { flood(c, "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n") }, plain: model.KindTransport, stream: model.KindTransport, most: 64 * mib},
		{name: "100 without end", speak: func(c net.Conn) { flood(c, "HTTP/1.1 100 Continue\r\n\r\n") }, plain: model.KindTransport, stream: model.KindTransport, most: 64 * mib},
		{name: "101", speak: func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			held(c)
		}, plain: model.KindResponse, stream: model.KindResponse, most: mib},
		{name: "101 and a flood", speak: func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			flood(c, "x")
		}, plain: model.KindResponse, stream: model.KindResponse, most: mib},
		{name: "no HTTP", speak: func(c net.Conn) { flood(c, "SSH-2.0\r\n") }, plain: model.KindTransport, stream: model.KindTransport, most: 64 * mib},
		{name: "nothing", speak: held, limits: hasty, plain: model.KindTimeout, stream: model.KindTimeout, names: "50ms", most: mib},
		{name: "dripping header", speak: func(c net.Conn) { drip(c, longHeader, 5*time.Millisecond) }, limits: hasty, plain: model.KindTimeout, stream: model.KindTimeout, names: "50ms", most: mib},

		{name: "endless line", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\ndata: "); flood(c, "a") }, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.LineBytes", most: 16 * mib},
		{name: "endless comment", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\n:"); flood(c, "a") }, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.LineBytes", most: 16 * mib},
		{name: "comments without end", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\n"); flood(c, ": ping\n\n") }, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.ResponseBytes", most: 16 * mib},
		{name: "event without end", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\n"); flood(c, "data: aaaaaaaa\n") }, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.LineBytes", most: 16 * mib},
		{name: "line ends without end", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\n"); flood(c, "\r") }, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.ResponseBytes", most: 16 * mib},
		{name: "long line, then line ends", speak: func(c net.Conn) {
			_, _ = io.WriteString(c, sseHead+"\r\n:"+strings.Repeat("a", 200*kib)+"\r")
			flood(c, "\r")
		}, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.ResponseBytes", most: 16 * mib},
		{name: "stream without end", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\n"); flood(c, word) }, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.ResponseBytes", most: 16 * mib},
		{name: "roles without end", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\n"); flood(c, "data: "+roleChunk+"\n\n") }, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.ResponseBytes", most: 16 * mib},
		{name: "body without end", speak: func(c net.Conn) { _, _ = io.WriteString(c, plainHead+"\r\n"); flood(c, " ") }, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.ResponseBytes", most: 16 * mib},
		{name: "page without end", speak: func(c net.Conn) { _, _ = io.WriteString(c, head+"text/html\r\n\r\n<html>"); flood(c, "<p>") }, limits: small, plain: model.KindResponse, stream: model.KindResponse, most: 16 * mib},
		{name: "failure without end", speak: func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad\r\n\r\n"); flood(c, "no ") }, plain: model.KindBadRequest, stream: model.KindBadRequest, most: 16 * mib},
		{name: "chunks without end", speak: func(c net.Conn) {
			_, _ = io.WriteString(c, plainHead+"Transfer-Encoding: chunked\r\n\r\n")
			flood(c, "10\r\n                \r\n")
		}, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.ResponseBytes", most: 16 * mib},
		{name: "chunk of a huge size", speak: func(c net.Conn) {
			_, _ = io.WriteString(c, plainHead+"Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n")
			flood(c, " ")
		}, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.ResponseBytes", most: 16 * mib},
		{name: "trailers without end", speak: func(c net.Conn) {
			_, _ = io.WriteString(c, plainHead+"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n")
			flood(c, "X-A: a\r\n")
		}, limits: small, plain: model.KindTruncated, stream: model.KindTruncated, most: 16 * mib},

		{name: "bomb", speak: func(c net.Conn) { bomb(c, plainHead, "") }, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.ResponseBytes", most: 16 * mib},
		{name: "bomb in a stream", speak: func(c net.Conn) { bomb(c, sseHead, word+": ") }, limits: small, plain: model.KindResponse, stream: model.KindResponse, names: "Limits.LineBytes", most: 16 * mib},
		{name: "bomb in a failure", speak: func(c net.Conn) { bomb(c, "HTTP/1.1 400 Bad\r\n", "no") }, plain: model.KindBadRequest, stream: model.KindBadRequest, most: 16 * mib},
		{name: "no gzip", speak: written(plainHead+"Content-Encoding: gzip\r\n", okAnswer), plain: model.KindTruncated, stream: model.KindTruncated, most: mib},
		{name: "gzip, cut", speak: func(c net.Conn) {
			_, _ = io.WriteString(c, cutZip)
		}, plain: model.KindTruncated, stream: model.KindTruncated, most: mib},

		{name: "length too long", speak: written(plainHead+"Content-Length: 100000\r\n", okAnswer), plain: model.KindTruncated, stream: model.KindTruncated, most: mib},
		{name: "length far too long", speak: written(plainHead+"Content-Length: 9223372036854775807\r\n", okAnswer), plain: model.KindTruncated, stream: model.KindTruncated, most: mib},
		{name: "length too short", speak: written(plainHead+"Content-Length: 40\r\n", okAnswer), plain: model.KindTruncated, stream: model.KindTruncated, most: mib},
		{name: "length as long as the answer", speak: written(fmt.Sprintf("%sContent-Length: %d\r\n", plainHead, len(okAnswer)), okAnswer+"garbage behind it"), most: mib},
		{name: "length of nothing", speak: written(plainHead+"Content-Length: 0\r\n", okAnswer), plain: model.KindTruncated, stream: model.KindTruncated, most: mib},
		{name: "length no number", speak: written(plainHead+"Content-Length: -5\r\n", okAnswer), plain: model.KindTransport, stream: model.KindTransport, most: mib},
		{name: "two lengths", speak: written(plainHead+"Content-Length: 5\r\nContent-Length: 6\r\n", okAnswer), plain: model.KindTransport, stream: model.KindTransport, most: mib},
		{name: "stream of a length too long", speak: written(sseHead+"Content-Length: 100000\r\n", whole), plain: model.KindTruncated, most: mib},
		{name: "stream of a length too short", speak: written(sseHead+"Content-Length: 70\r\n", whole), plain: model.KindResponse, stream: model.KindTruncated, most: mib},

		{name: "dripping body", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\n"); drip(c, word, time.Millisecond) }, plain: model.KindTimeout, stream: model.KindTimeout, most: 2 * mib, ends: 100 * time.Millisecond},
		{name: "dripping comments", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\n"); drip(c, ": ping\n\n", time.Millisecond) }, plain: model.KindTimeout, stream: model.KindTimeout, most: 2 * mib, ends: 100 * time.Millisecond},
		{name: "silent body", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\n"+word); held(c) }, limits: hasty, plain: model.KindTimeout, stream: model.KindTimeout, names: "50ms", most: mib},
		{name: "silent before a byte", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\n"); held(c) }, limits: hasty, plain: model.KindTimeout, stream: model.KindTimeout, names: "50ms", most: mib},
		{name: "silent behind the mark", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\n"+whole+"data: [DONE]\n\n"); held(c) }, limits: hasty, plain: model.KindTimeout, most: mib},
		{name: "flood behind the mark", speak: func(c net.Conn) { _, _ = io.WriteString(c, sseHead+"\r\n"+whole+"data: [DONE]\n\n"); flood(c, word) }, limits: small, plain: model.KindResponse, most: 16 * mib},
		{name: "dripping behind the mark", speak: func(c net.Conn) {
			_, _ = io.WriteString(c, sseHead+"\r\n"+whole+"data: [DONE]\n\n")
			drip(c, word, time.Millisecond)
		}, plain: model.KindTimeout, most: 2 * mib, ends: 100 * time.Millisecond},
		{name: "dripping behind the finish", speak: func(c net.Conn) {
			_, _ = io.WriteString(c, sseHead+"\r\n"+whole)
			drip(c, ": ping\n\n", 20*time.Millisecond)
		}, plain: model.KindTimeout, most: 2 * mib, ends: 100 * time.Millisecond},
	} {
		t.Run(h.name, func(t *testing.T) {
			b, err := model.New(model.Config{
				BaseURL: raw(t, h.speak), Model: "m", Limits: h.limits, Retry: model.Retry{Max: 1, MinWait: quick.MinWait, MaxWait: quick.MaxWait},
			})
			require.NoError(t, err)
			t.Cleanup(b.CloseIdleConnections)
			h.try(t, b, "plain", h.plain, func(ctx context.Context) error { return errOf(b.Generate(ctx, ask("x"))) })
			h.try(t, b, "stream", h.stream, func(ctx context.Context) error {
				res, err := b.Stream(ctx, ask("x")).Response()
				if err == nil && res.Text != "word" && res.Text != "fine" {
					return fmt.Errorf("the text is %q", res.Text)
				}
				return err
			})
		})
	}
}

// try makes one call and checks what came of it.
func (h hostility) try(t *testing.T, b *model.Base, way string, want model.Kind, call func(context.Context) error) {
	t.Helper()
	deadline := 20 * time.Second
	if h.ends > 0 && want != 0 {
		deadline = h.ends
	}
	ctx, cancel := context.WithTimeout(routed(), deadline)
	defer cancel()
	var err error
	begin := time.Now()
	used := allocated(func() { err = call(ctx) })
	took := time.Since(begin)
	t.Logf("%s: %v after %v, %d KiB allocated", way, err, took.Round(time.Millisecond), used/kib)
	if want == 0 {
		require.NoError(t, err, way)
	} else {
		var failure *model.Error
		require.ErrorAs(t, err, &failure, way)
		require.Equal(t, want, failure.Kind, "%s: %v", way, err)
	}
	if h.ends == 0 || want == 0 {
		require.NoError(t, ctx.Err(), "%s: the call did not end by itself", way)
		if way == "stream" && want != 0 {
			require.ErrorContains(t, err, h.names)
		}
	}
	require.Less(t, used, h.most, way)
}

// pour is flood for what is no connection.
func pour(w io.Writer, text string) {
	block := []byte(strings.Repeat(text, 64<<10))
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}
