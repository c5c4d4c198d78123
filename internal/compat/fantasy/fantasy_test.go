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

func TestPeers(t *testing.T) { compat.Run(t, byModel, byAgent) }

func TestReplaceIsNeeded(t *testing.T) {
	t.Parallel()
	compat.NeedsReplace(t, below, "charm.land/fantasy/providers/openaicompat")
}

const (
	module = "charm.land/fantasy"
	below  = "github.com/openai/openai-go/v3"
)

var byModel = compat.Peer{
	Name: "fantasy model", By: "Wrap", Module: module, Over: below, Wire: compat.Chat,
	Retried: compat.NoRetries, // it turns those of openai-go off
	Open: func(t testing.TB, url string) compat.Calls {
		model := open(t, url)
		call := func(prompt string) fantasy.Call {
			return fantasy.Call{Prompt: fantasy.Prompt{fantasy.NewUserMessage(prompt)}}
		}
		return compat.Calls{
			Plain: func(ctx context.Context, prompt string) (string, error) {
				res, err := model.Generate(ctx, call(prompt))
				if err != nil {
					return "", err
				}
				return res.Content.Text(), nil
			},
			Streamed: func(ctx context.Context, prompt string) (text string, err error) {
				stream, err := model.Stream(ctx, call(prompt))
				if err != nil {
					return "", err
				}
				for part := range stream { // to its end: the stream of an early break stays open
					text += part.Delta
					if part.Error != nil {
						err = part.Error
					}
				}
				return text, err
			},
		}
	},
}

var byAgent = compat.Peer{
	Name: "fantasy agent", By: "Wrap", Module: module, Over: below, Wire: compat.Chat,
	Open: func(t testing.TB, url string) compat.Calls {
		agent := fantasy.NewAgent(open(t, url))
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

func open(t testing.TB, url string) fantasy.LanguageModel {
	provider, err := openaicompat.New(openaicompat.WithBaseURL(url), openaicompat.WithAPIKey("key"),
		openaicompat.WithHTTPClient(routing.Wrap(compat.HTTPClient(t), nil)))
	require.NoError(t, err)
	model, err := provider.LanguageModel(t.Context(), "m")
	require.NoError(t, err)
	return model
}
