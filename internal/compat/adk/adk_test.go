package adk_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/model/openaimodel"
	"google.golang.org/genai"

	"github.com/homing-go/homing/internal/compat"
	"github.com/homing-go/homing/routing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPeers(t *testing.T) { compat.Run(t, peer) }

func TestReplaceIsNeeded(t *testing.T) {
	t.Parallel()
	compat.NeedsReplace(t, below, "google.golang.org/adk/v2/model/openaimodel")
}

const below = "github.com/openai/openai-go/v3"

var peer = compat.Peer{
	Name: "adk-go openaimodel", By: "Wrap", Module: "google.golang.org/adk/v2", Over: below, Wire: compat.Responses,
	Note: "speaks the Responses API",
	Open: func(t testing.TB, url string) compat.Calls {
		llm, err := openaimodel.NewModel(t.Context(), "m", &openaimodel.ClientConfig{
			APIKey: "key", BaseURL: url, HTTPClient: routing.Wrap(compat.HTTPClient(t), nil),
		})
		require.NoError(t, err)
		call := func(ctx context.Context, prompt string, streamed bool) (string, error) {
			var text string
			request := &model.LLMRequest{Model: "m", Contents: []*genai.Content{genai.NewContentFromText(prompt, genai.RoleUser)}}
			for res, err := range llm.GenerateContent(ctx, request, streamed) {
				if err != nil {
					return text, err
				}
				if res.Partial || res.Content == nil { // the last one has the whole text
					continue
				}
				for _, part := range res.Content.Parts {
					text += part.Text
				}
			}
			return text, nil
		}
		return compat.Calls{
			Plain:    func(ctx context.Context, prompt string) (string, error) { return call(ctx, prompt, false) },
			Streamed: func(ctx context.Context, prompt string) (string, error) { return call(ctx, prompt, true) },
		}
	},
}
