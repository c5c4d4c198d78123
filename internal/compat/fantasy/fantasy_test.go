package fantasy_test

import (
	"context"
	"testing"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/openaicompat"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/homing-go/homing/internal/compat"
	"github.com/homing-go/homing/routing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPeers(t *testing.T) { compat.Run(t, peer) }

var peer = compat.Peer{
	Name: "fantasy", By: "Wrap", Module: "charm.land/fantasy", Over: "github.com/openai/openai-go/v3", Wire: compat.Chat,
	Note: "its agent tries again after 5 s",
	Open: func(t testing.TB, url string) compat.Calls {
		provider, err := openaicompat.New(openaicompat.WithBaseURL(url), openaicompat.WithAPIKey("key"),
			openaicompat.WithHTTPClient(routing.Wrap(compat.HTTPClient(t), nil)))
		require.NoError(t, err)
		model, err := provider.LanguageModel(t.Context(), "m")
		require.NoError(t, err)
		agent := fantasy.NewAgent(model) // what tries again is the agent, not the model
		return compat.Calls{
			Plain: func(ctx context.Context, prompt string) (string, error) {
				res, err := agent.Generate(ctx, fantasy.AgentCall{Prompt: prompt})
				if err != nil {
					return "", err
				}
				return res.Response.Content.Text(), nil
			},
			Streamed: func(ctx context.Context, prompt string) (string, error) {
				var text string
				_, err := agent.Stream(ctx, fantasy.AgentStreamCall{Prompt: prompt, OnTextDelta: func(_, delta string) error {
					text += delta
					return nil
				}})
				return text, err
			},
		}
	},
}
