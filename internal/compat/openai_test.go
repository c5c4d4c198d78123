package compat_test

import (
	"context"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/homing-go/homing/internal/compat"
	"github.com/homing-go/homing/routing"
)

var openAIByMiddleware = compat.Peer{
	Name: "openai-go", By: "Middleware", Module: "github.com/openai/openai-go/v3", Wire: compat.Chat,
	Open: func(t testing.TB, url string) compat.Calls {
		return openAICalls(url, option.WithHTTPClient(compat.HTTPClient(t)), option.WithMiddleware(routing.Middleware(nil)))
	},
}

var openAIByWrap = compat.Peer{
	Name: "openai-go", By: "Wrap", Module: "github.com/openai/openai-go/v3", Wire: compat.Chat,
	Open: func(t testing.TB, url string) compat.Calls {
		return openAICalls(url, option.WithHTTPClient(routing.Wrap(compat.HTTPClient(t), nil)))
	},
}

func openAICalls(url string, opts ...option.RequestOption) compat.Calls {
	client := openai.NewClient(append(opts, option.WithBaseURL(url), option.WithAPIKey("key"))...)
	params := func(prompt string) openai.ChatCompletionNewParams {
		return openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)}}
	}
	return compat.Calls{
		Plain: func(ctx context.Context, prompt string) (string, error) {
			res, err := client.Chat.Completions.New(ctx, params(prompt))
			if err != nil {
				return "", err
			}
			return res.Choices[0].Message.Content, nil
		},
		Streamed: func(ctx context.Context, prompt string) (text string, err error) {
			stream := client.Chat.Completions.NewStreaming(ctx, params(prompt))
			defer func() { err = firstOf(err, stream.Close()) }()
			for stream.Next() {
				for _, choice := range stream.Current().Choices {
					text += choice.Delta.Content
				}
			}
			return text, stream.Err()
		},
	}
}
