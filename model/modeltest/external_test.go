package modeltest_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
)

// simple is a client written from scratch, with nothing but the two interfaces of
// this module and net/http.
type simple struct {
	url  string
	http *http.Client // of routing.Wrap
}

func (c *simple) Generate(ctx context.Context, req *model.Request) (*model.Response, error) {
	return c.try(ctx, req, false, func(res *http.Response) (*model.Response, bool, error) {
		var answer struct {
			Choices []struct{ Message json.RawMessage }
		}
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
			return nil, true, errors.Join(model.ErrTruncated, err)
		}
		if len(answer.Choices) == 0 {
			return nil, false, errors.New("the answer has no choice")
		}
		return finish(answer.Choices[0].Message)
	})
}

func (c *simple) Stream(ctx context.Context, req *model.Request) *model.Stream {
	return model.NewStream(func(yield func(model.Event) bool) (*model.Response, error) {
		return c.try(ctx, req, true, func(res *http.Response) (*model.Response, bool, error) {
			return readStream(res.Body, yield)
		})
	})
}

// message is what simple understands of an assistant message and of a delta.
type message struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	ToolCalls []call `json:"tool_calls,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func finish(raw []byte) (*model.Response, bool, error) {
	var m message
	replay, err := model.Raw(raw)
	if err = errors.Join(err, json.Unmarshal(raw, &m)); err != nil {
		return nil, false, err
	}
	res := &model.Response{Message: replay, Text: m.Content}
	for _, c := range m.ToolCalls {
		res.ToolCalls = append(res.ToolCalls, model.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
	}
	return res, false, nil
}

// readStream reports whether nothing was handed out, so that a failure may be tried again.
func readStream(body io.Reader, yield func(model.Event) bool) (*model.Response, bool, error) {
	sum, fresh := message{Role: "assistant"}, true
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if data == "[DONE]" {
			raw, err := json.Marshal(sum)
			if err != nil {
				return nil, false, err
			}
			return finish(raw)
		}
		var chunk struct{ Choices []struct{ Delta message } }
		if !ok || json.Unmarshal([]byte(data), &chunk) != nil || len(chunk.Choices) == 0 {
			continue
		}
		delta := chunk.Choices[0].Delta
		sum.Content += delta.Content
		for _, c := range delta.ToolCalls { // one call is all that is asked for here
			if c.ID != "" {
				sum.ToolCalls = append(sum.ToolCalls, c)
			}
			sum.ToolCalls[0].Function.Arguments += c.Function.Arguments
		}
		fresh = false
		if !yield(model.Event{Kind: model.EventText, Text: delta.Content}) {
			return nil, false, model.ErrAbandoned
		}
	}
	return nil, fresh, errors.Join(model.ErrTruncated, lines.Err())
}

// try sends the request up to four times.
func (c *simple) try(ctx context.Context, req *model.Request, stream bool, read func(*http.Response) (*model.Response, bool, error)) (*model.Response, error) {
	if err := routing.Check(ctx); err != nil {
		return nil, err
	}
	var list [][]byte
	for _, m := range req.Messages.Messages() {
		list = append(list, m.JSON())
	}
	body := fmt.Appendf(nil, `{"model":"m","stream":%t,"messages":[%s]}`, stream, bytes.Join(list, []byte(",")))
	for attempt := 1; ; attempt++ {
		answer, again, wait, err := c.once(ctx, body, read)
		if err == nil || !again || attempt == 4 || ctx.Err() != nil {
			return answer, cmp.Or(ctx.Err(), err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *simple) once(ctx context.Context, body []byte, read func(*http.Response) (*model.Response, bool, error)) (_ *model.Response, again bool, wait time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends a stream that is not read to its end
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, false, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return nil, true, 5 * time.Millisecond, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		wait := max(5*time.Millisecond, time.Duration(seconds)*time.Second)
		return nil, res.StatusCode == 429 || res.StatusCode >= 500, wait, fmt.Errorf("status %d", res.StatusCode)
	}
	answer, again, err := read(res)
	return answer, again, 5 * time.Millisecond, err
}
