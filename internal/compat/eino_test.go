package compat_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino-ext/components/model/qwen"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/internal/compat"
	"github.com/homing-go/homing/routing"
)

// einoBelow is the fork of go-openai that both models are made of.
const einoBelow = "github.com/meguminnnnnnnnn/go-openai"

var einoOpenAI = compat.Peer{
	Name: "eino-ext openai", By: "Wrap", Module: "github.com/cloudwego/eino-ext/components/model/openai", Over: einoBelow, Wire: compat.Chat,
	Retried: compat.NoRetries,
	Open: func(t testing.TB, url string) compat.Calls {
		m, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{
			BaseURL: url, APIKey: "key", Model: "m", HTTPClient: routing.Wrap(compat.HTTPClient(t), nil),
		})
		require.NoError(t, err)
		return einoCalls(m)
	},
}

var einoQwen = compat.Peer{
	Name: "eino-ext qwen", By: "Wrap", Module: "github.com/cloudwego/eino-ext/components/model/qwen", Over: einoBelow, Wire: compat.Chat,
	Retried: compat.NoRetries,
	Open: func(t testing.TB, url string) compat.Calls {
		m, err := qwen.NewChatModel(t.Context(), &qwen.ChatModelConfig{
			BaseURL: url, APIKey: "key", Model: "m", HTTPClient: routing.Wrap(compat.HTTPClient(t), nil),
		})
		require.NoError(t, err)
		return einoCalls(m)
	},
}

func einoCalls(m model.BaseChatModel) compat.Calls {
	return compat.Calls{
		Plain: func(ctx context.Context, prompt string) (string, error) {
			res, err := m.Generate(ctx, []*schema.Message{schema.UserMessage(prompt)})
			if err != nil {
				return "", err
			}
			return res.Content, nil
		},
		Streamed: func(ctx context.Context, prompt string) (text string, err error) {
			stream, err := m.Stream(ctx, []*schema.Message{schema.UserMessage(prompt)})
			if err != nil {
				return "", err
			}
			defer stream.Close()
			for {
				chunk, err := stream.Recv()
				switch {
				case errors.Is(err, io.EOF):
					return text, nil
				case err != nil:
					return text, err
				}
				text += chunk.Content
			}
		},
	}
}
