package genkit_test

import (
	"context"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/compat_oai"
	"github.com/openai/openai-go/option"
	"go.uber.org/goleak"

	"github.com/homing-go/homing/internal/compat"
	"github.com/homing-go/homing/routing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPeers(t *testing.T) { compat.Run(t, byMiddleware, byWrap) }

const (
	module = "github.com/firebase/genkit/go"
	below  = "github.com/openai/openai-go"
)

var byMiddleware = compat.Peer{
	Name: "genkit compat_oai", By: "Middleware", Module: module, Over: below, Wire: compat.Chat,
	Open: func(t testing.TB, url string) compat.Calls {
		return calls(t, url, option.WithHTTPClient(compat.HTTPClient(t)), option.WithMiddleware(routing.Middleware(nil)))
	},
}

var byWrap = compat.Peer{
	Name: "genkit compat_oai", By: "Wrap", Module: module, Over: below, Wire: compat.Chat,
	Open: func(t testing.TB, url string) compat.Calls {
		return calls(t, url, option.WithHTTPClient(routing.Wrap(compat.HTTPClient(t), nil)))
	},
}

func calls(t testing.TB, url string, opts ...option.RequestOption) compat.Calls {
	plugin := &compat_oai.OpenAICompatible{Provider: "peer", APIKey: "key", BaseURL: url, Opts: opts}
	g := genkit.Init(t.Context(), genkit.WithPlugins(plugin))
	model := plugin.NewModel("m", ai.ModelOptions{Supports: &compat_oai.BasicText})
	genkit.RegisterAction(g, model)
	return compat.Calls{
		Plain: func(ctx context.Context, prompt string) (string, error) {
			return genkit.GenerateText(ctx, g, ai.WithModel(model), ai.WithPrompt(prompt))
		},
		Streamed: func(ctx context.Context, prompt string) (text string, err error) {
			for part, err := range genkit.GenerateStream(ctx, g, ai.WithModel(model), ai.WithPrompt(prompt)) {
				if err != nil {
					return text, err
				}
				if !part.Done {
					text += part.Chunk.Text()
				}
			}
			return text, nil
		},
	}
}
