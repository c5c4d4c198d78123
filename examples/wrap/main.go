// Wrap makes an existing openai.Client and a bare http.Client routing-aware, in three
// lines each, and shows that what they send carries the session.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "wrap:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s carries %s\n", r.URL.Path, r.Header.Get("X-Session-ID"))
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, `{"choices":[{"message":{"role":"assistant","content":"hello"}}]}`)
	}))
	defer server.Close()
	client := openai.NewClient(option.WithBaseURL(server.URL+"/openai"), option.WithAPIKey("key"))

	// An existing openai.Client:
	ctx := routing.NewContext(context.Background(), routing.NewSession(routing.Derive("run-1", "task-7")))
	client = openai.NewClient(append(client.Options, option.WithMiddleware(routing.Middleware(nil)))...)
	_, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}})
	if err != nil {
		return err
	}

	// A bare http.Client, and so every library that takes one:
	bare := routing.Wrap(http.DefaultClient, nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/bare", nil)
	if err != nil {
		return err
	}
	res, err := bare.Do(req)
	if err != nil {
		return err
	}
	defer bare.CloseIdleConnections()
	return res.Body.Close()
}
