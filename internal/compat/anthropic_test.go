package compat_test

import (
	"context"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/homing-go/homing/internal/compat"
	"github.com/homing-go/homing/routing"
)

var anthropicByMiddleware = compat.Peer{
	Name: "anthropic-sdk-go", By: "Middleware", Module: "github.com/anthropics/anthropic-sdk-go", Wire: compat.Messages,
	Open: func(t testing.TB, url string) compat.Calls {
		return anthropicCalls(url, option.WithHTTPClient(compat.HTTPClient(t)), option.WithMiddleware(routing.Middleware(nil)))
	},
}

var anthropicByWrap = compat.Peer{
	Name: "anthropic-sdk-go", By: "Wrap", Module: "github.com/anthropics/anthropic-sdk-go", Wire: compat.Messages,
	Open: func(t testing.TB, url string) compat.Calls {
		return anthropicCalls(url, option.WithHTTPClient(routing.Wrap(compat.HTTPClient(t), nil)))
	},
}

func anthropicCalls(url string, opts ...option.RequestOption) compat.Calls {
	client := anthropic.NewClient(append(opts, option.WithBaseURL(strings.TrimSuffix(url, "/v1")), option.WithAPIKey("key"))...)
	params := func(prompt string) anthropic.MessageNewParams {
		return anthropic.MessageNewParams{Model: "m", MaxTokens: 16, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))}}
	}
	return compat.Calls{
		Plain: func(ctx context.Context, prompt string) (string, error) {
			res, err := client.Messages.New(ctx, params(prompt))
			if err != nil {
				return "", err
			}
			return res.Content[0].Text, nil
		},
		Streamed: func(ctx context.Context, prompt string) (text string, err error) {
			stream := client.Messages.NewStreaming(ctx, params(prompt))
			defer func() { err = firstOf(err, stream.Close()) }()
			for stream.Next() {
				text += stream.Current().Delta.Text
			}
			return text, stream.Err()
		},
	}
}
