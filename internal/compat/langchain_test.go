package compat_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/homing-go/homing/internal/compat"
	"github.com/homing-go/homing/routing"
)

var langChain = compat.Peer{
	Name: "langchaingo", By: "Wrap", Module: "github.com/tmc/langchaingo", Wire: compat.Chat,
	Retried: compat.NoRetries,
	Open: func(t testing.TB, url string) compat.Calls {
		llm, err := openai.New(openai.WithBaseURL(url), openai.WithToken("key"), openai.WithModel("m"),
			openai.WithHTTPClient(routing.Wrap(compat.HTTPClient(t), nil)))
		require.NoError(t, err)
		return compat.Calls{
			Plain: func(ctx context.Context, prompt string) (string, error) {
				return llms.GenerateFromSinglePrompt(ctx, llm, prompt)
			},
			Streamed: func(ctx context.Context, prompt string) (string, error) {
				var text string
				_, err := llms.GenerateFromSinglePrompt(ctx, llm, prompt, llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error {
					text += string(chunk)
					return nil
				}))
				return text, err
			},
		}
	},
}
