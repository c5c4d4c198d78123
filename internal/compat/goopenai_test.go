package compat_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/homing-go/homing/internal/compat"
	"github.com/homing-go/homing/routing"
)

var goOpenAI = compat.Peer{
	Name: "go-openai", By: "Wrap", Module: "github.com/sashabaranov/go-openai", Wire: compat.Chat,
	Retried: compat.NoRetries,
	Open: func(t testing.TB, url string) compat.Calls {
		config := openai.DefaultConfig("key")
		config.BaseURL = url
		config.HTTPClient = routing.Wrap(compat.HTTPClient(t), nil)
		client := openai.NewClientWithConfig(config)
		request := func(prompt string) openai.ChatCompletionRequest {
			return openai.ChatCompletionRequest{Model: "m", Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: prompt}}}
		}
		return compat.Calls{
			Plain: func(ctx context.Context, prompt string) (string, error) {
				res, err := client.CreateChatCompletion(ctx, request(prompt))
				if err != nil {
					return "", err
				}
				return res.Choices[0].Message.Content, nil
			},
			Streamed: func(ctx context.Context, prompt string) (text string, err error) {
				stream, err := client.CreateChatCompletionStream(ctx, request(prompt))
				if err != nil {
					return "", err
				}
				defer func() { err = firstOf(err, stream.Close()) }()
				for {
					chunk, err := stream.Recv()
					switch {
					case errors.Is(err, io.EOF):
						return text, nil
					case err != nil:
						return text, err
					}
					for _, choice := range chunk.Choices {
						text += choice.Delta.Content
					}
				}
			},
		}
	},
}
