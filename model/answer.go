package model

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/homing-go/homing/internal/rawjson"
)

// receive judges the response of an attempt inside of the retry layer, where a cut
// body or an error inside of a success can still be tried again.
func (c *call) receive(res *http.Response) (err error) {
	sound := false
	defer func() { // a dialect may panic
		if !sound {
			_ = res.Body.Close()
		}
	}()
	switch {
	case res.StatusCode < 200 || res.StatusCode > 299:
		if c.failure == nil {
			c.readFailure(res)
		}
	case c.req == nil:
		err = c.receiveUnknown(res)
	case c.streams && !isJSON(res):
		err = c.receiveStream(res)
	default:
		err = c.receiveWhole(res)
	}
	sound = err == nil
	return err
}

// receiveUnknown is for endpoints that only the SDK knows: what is JSON is read to its
// end, so that a cut is noticed; the rest passes.
func (c *call) receiveUnknown(res *http.Response) error {
	if !isJSON(res) {
		return nil
	}
	text, err := readAll(res)
	if err != nil {
		return readFailure(res, err)
	}
	c.hand(res, text)
	return nil
}

// readFailure reads a response that is no answer, and leaves it to be read again.
func (c *call) readFailure(res *http.Response) {
	text, _ := readAll(res) // what is there is enough
	c.failure = statusFailure(res, text)
	c.hand(res, text)
}

func (c *call) receiveWhole(res *http.Response) error {
	text, err := readAll(res)
	if err != nil {
		return readFailure(res, err)
	}
	return c.receiveText(res, text)
}

func (c *call) receiveText(res *http.Response, text []byte) (err error) {
	if c.answer, err = c.decode(res, text); err != nil {
		return err
	}
	c.hand(res, text)
	return nil
}

// decode reads a plain answer. The response keeps text.
func (c *call) decode(res *http.Response, text []byte) (*Response, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, &Error{Kind: KindTruncated, StatusCode: res.StatusCode, Header: res.Header, detail: "the body is empty"}
	}
	e, err := readEnvelope(text)
	switch {
	case err != nil && isHTML(res, text):
		return nil, notAnAnswer(res, text, "a web page instead of an answer; check the base URL and what stands in front of the server", err)
	case rawjson.IsEnd(err):
		return nil, &Error{Kind: KindTruncated, StatusCode: res.StatusCode, Header: res.Header, Body: capped(text, maxErrorBody), detail: "the JSON stops early", cause: err}
	case err != nil:
		return nil, notAnAnswer(res, text, "the body is no JSON object", err)
	case e.failure != nil:
		return nil, bodyFailure(res, e.failure)
	case !e.choices || e.message == nil:
		return nil, notAnAnswer(res, text, "the answer has no message", nil)
	}
	reader := c.base.cfg.Dialect.NewReader(c.req)
	if err := reader.Message(e.message); err != nil {
		return nil, c.unread(res, text, err)
	}
	answer, err := reader.Finish(rawjson.Text(e.finish), true)
	if err != nil {
		return nil, c.unread(res, text, err)
	}
	answer.Raw = e.message
	c.complete(answer, res, readUsage(e.usage))
	return answer, nil
}

// unread is what a dialect could not read.
func (c *call) unread(res *http.Response, text []byte, err error) error {
	if failure, ok := err.(*Error); ok { //nolint:errorlint // a wrapped one is the cause of another failure
		return failure.of(res)
	}
	return notAnAnswer(res, text, "the message cannot be read", err)
}

// complete fills in what no dialect knows.
func (c *call) complete(answer *Response, res *http.Response, usage Usage) {
	answer.Usage = usage
	answer.Header, answer.Trailer = res.Header, res.Trailer
	answer.Timing = c.timing()
	if answer.Raw == nil {
		answer.Raw = answer.Message.JSON()
	}
	// The response belongs to the caller, the message to the history: what is done to one
	// must not reach the other.
	answer.Raw = bytes.Clone(answer.Raw)
}

func (c *call) timing() Timing {
	return Timing{FirstByte: c.firstByte, Total: time.Since(c.start), Attempts: c.attempts}
}

// hand puts text back as the body, for the layers above.
func (c *call) hand(res *http.Response, text []byte) {
	_ = res.Body.Close()
	c.handed = &replay{seen: text, rest: http.NoBody}
	res.Body = c.handed
	res.ContentLength = int64(len(text))
}

// A replay is a body whose beginning was read already. Whoever reads it gets it whole.
type replay struct {
	seen []byte
	rest io.ReadCloser
	// recording is on while the beginning is being read by pull.
	recording bool
}

func (r *replay) Read(p []byte) (int, error) {
	if len(r.seen) > 0 {
		n := copy(p, r.seen)
		r.seen = r.seen[n:]
		return n, nil
	}
	return r.rest.Read(p)
}

func (r *replay) Close() error { return r.rest.Close() }

// pull reads what was not read yet.
func (r *replay) pull(p []byte) (int, error) {
	n, err := r.rest.Read(p)
	if r.recording {
		r.seen = append(r.seen, p[:n]...)
	}
	return n, err
}

// readAll reads the body, which is limited. For a known length it allocates once.
func readAll(res *http.Response) ([]byte, error) {
	var buf bytes.Buffer
	if n := res.ContentLength; n > 0 && n <= 1<<20 {
		buf.Grow(int(n) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(res.Body)
	return buf.Bytes(), err
}

func isJSON(res *http.Response) bool {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

func isHTML(res *http.Response, text []byte) bool {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return media == "text/html" || bytes.HasPrefix(bytes.TrimSpace(text), []byte("<"))
}

// outcome returns the answer of a call that went well, from what the SDK handed up. A
// middleware may have put another body in its place; then that one counts.
func (c *call) outcome(res *http.Response) (*Response, error) {
	if res == nil {
		return nil, &Error{Kind: KindTransport, Attempts: c.attempts, detail: "a middleware returned no response"}
	}
	defer res.Body.Close() //nolint:errcheck // everything that counts was read
	if c.answer != nil && res.Body == io.ReadCloser(c.handed) {
		return c.answer, nil
	}
	text, err := io.ReadAll(c.bounded(res.Body))
	if err != nil {
		return nil, c.fail(readFailure(res, err))
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, c.fail(statusFailure(res, text))
	}
	answer, err := c.decode(res, text)
	if err != nil {
		return nil, c.fail(err)
	}
	return answer, nil
}
