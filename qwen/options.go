package qwen

import "github.com/homing-go/homing/model"

// A Server is a family of servers that takes the thinking switches in the same place.
type Server string

const (
	// OpenAICompatible is vLLM, SGLang and llama.cpp: the switches go into the member
	// chat_template_kwargs. It is the zero value's meaning.
	OpenAICompatible Server = "openai-compatible"
	// DashScope takes the switches at the top level of the request.
	DashScope Server = "dashscope"
)

// Options are what differs between the models and servers of the family. The zero value
// sends nothing that was not asked for and reads whatever comes.
type Options struct {
	Server Server
	// EnableThinking, PreserveThinking, ThinkingBudget and ReasoningEffort are the
	// switches of the chat templates; what is nil or empty is not sent. DashScope takes
	// a budget or an effort, not both.
	EnableThinking   *bool
	PreserveThinking *bool
	ThinkingBudget   *int
	ReasoningEffort  string
	// PromptOpensThinking is for servers that do not take thinking apart when the chat
	// template has opened it: content is thinking up to the first </think>.
	PromptOpensThinking bool
	// Params are sent where a request leaves its own nil; see [Profile].
	Params model.Params
	// NullContent replays an empty content beside calls as null. Some servers want that,
	// others fail on it; the default is the empty text.
	NullContent bool
}
