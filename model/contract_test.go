package model_test

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
)

// Other programs compile against these names.
var (
	_ func() routing.ID                                                                                              = routing.NewID
	_ func(...string) routing.ID                                                                                     = routing.Derive
	_ func(string) (routing.ID, error)                                                                               = routing.ParseID
	_                                                                                                                = routing.Session{ID: routing.ID(""), Parent: routing.ID(""), Root: routing.ID("")}
	_ func(routing.ID) routing.Session                                                                               = routing.NewSession
	_ func(routing.Session, string) routing.Session                                                                  = routing.Session.Child
	_ func(context.Context, routing.Session) context.Context                                                         = routing.NewContext
	_ func(context.Context) (routing.Session, bool)                                                                  = routing.FromContext
	_ func(context.Context) context.Context                                                                          = routing.Without
	_ func(context.Context) error                                                                                    = routing.Check
	_ error                                                                                                          = routing.ErrNoSession
	_ error                                                                                                          = (*routing.IDError)(nil)
	_                                                                                                                = routing.Turn{Index: 1, Final: true, Model: "m", Attempt: 1, Last: true}
	_ func(context.Context, routing.Turn) context.Context                                                            = routing.WithTurn
	_ func(context.Context) routing.Turn                                                                             = routing.TurnFrom
	_ routing.Carrier                                                                                                = contractCarrier{}
	_                                                                                                                = routing.Member{Path: []string{"a"}, Value: []byte("1")}
	_ func(*routing.Attempt, string, string) bool                                                                    = (*routing.Attempt).SetHeader
	_ func(*routing.Attempt, string, string) bool                                                                    = (*routing.Attempt).SetCookie
	_ func(*routing.Attempt) context.Context                                                                         = (*routing.Attempt).Context
	_ func(*routing.Attempt, *http.Request) (*http.Response, error)                                                  = (*routing.Attempt).Do
	_ func(...string) (routing.Carrier, error)                                                                       = routing.Header
	_ func(routing.HeaderConfig) (routing.Carrier, error)                                                            = routing.HeaderConfig.Carrier
	_                                                                                                                = routing.HeaderConfig{Names: []string{"X"}, Underscore: true}
	_ func(string, ...string) (routing.Carrier, error)                                                               = routing.Preset
	_ func(...routing.Carrier) routing.Carrier                                                                       = routing.Join
	_ func(context.Context, routing.Carrier, []byte) (context.Context, []byte)                                       = routing.InBody
	_                                                                                                                = []routing.Missing{routing.MissingPass, routing.MissingRefuse}
	_                                                                                                                = routing.Transport{Base: http.DefaultTransport, Carrier: routing.None{}, Missing: 0, Match: func(*url.URL) bool { return true }, Audit: new(routing.Audit)}
	_ func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error)                       = new(routing.Transport).Middleware
	_ func(context.Context, *url.URL) error                                                                          = new(routing.Transport).End
	_ func()                                                                                                         = new(routing.Transport).CloseIdleConnections
	_ func(*http.Client, routing.Carrier) *http.Client                                                               = routing.Wrap
	_ func(routing.Carrier) func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error) = routing.Middleware

	_ model.Client = (*model.Base)(nil)
	_              = model.Request{Messages: model.Snapshot{}, Tools: (*model.Tools)(nil), Params: model.Params{}, Extra: map[string]json.RawMessage{}}
	_              = model.Response{
		Message: model.Message{}, Text: "", Reasoning: "", ToolCalls: []model.ToolCall{{ID: "", Name: "", Arguments: json.RawMessage{}, Err: error(nil)}}, Repairs: []model.Repair{},
		Finish: model.Finish(""), Usage: model.Usage{}, Timing: model.Timing{}, Raw: json.RawMessage{}, Header: http.Header{},
	}
	_ = model.Config{
		BaseURL: "", APIKey: "", Model: "", Carrier: routing.None{}, HTTPClient: http.DefaultClient, Logger: slog.Default(),
		Retry: model.Retry{Max: 4}, Limits: model.Limits{}, Hooks: model.Hooks{}, Dialect: model.Dialect(nil),
	}
	_ func(model.Config) (*model.Base, error)                                             = model.New
	_ func(openai.Client, model.Config) (*model.Base, error)                              = model.Wrap
	_ func(*model.Base) openai.Client                                                     = (*model.Base).API
	_ func(*model.Base)                                                                   = (*model.Base).CloseIdleConnections
	_ func(string) model.Message                                                          = model.System
	_ func(string) model.Message                                                          = model.User
	_ func(string, string) model.Message                                                  = model.ToolResult
	_ func(json.RawMessage) (model.Message, error)                                        = model.Raw
	_ func(...model.Message) *model.Transcript                                            = model.NewTranscript
	_ func(*model.Transcript, ...model.Message)                                           = (*model.Transcript).Append
	_ func(*model.Transcript) model.Snapshot                                              = (*model.Transcript).Snapshot
	_ func(*model.Transcript) *model.Transcript                                           = (*model.Transcript).Fork
	_ func(model.Client, routing.Session, ...model.Message) *model.Trajectory             = model.NewTrajectory
	_                                                                                     = &model.Trajectory{Tools: nil, Params: model.Params{}, Extra: nil}
	_ func(*model.Trajectory, context.Context, ...model.Message) (*model.Response, error) = (*model.Trajectory).Send
	_ func(*model.Trajectory, context.Context, ...model.Message) *model.Stream            = (*model.Trajectory).Stream
	_ func(*model.Trajectory, routing.Session) *model.Trajectory                          = (*model.Trajectory).Fork
	_ func(*model.Trajectory) routing.Session                                             = (*model.Trajectory).Session
	_ func(*model.Trajectory, context.Context) error                                      = (*model.Trajectory).End
	_ func(func(func(model.Event) bool) (*model.Response, error)) *model.Stream           = model.NewStream
	_ func(*model.Stream) iter.Seq2[model.Event, error]                                   = (*model.Stream).Events
	_ func(*model.Stream) (*model.Response, error)                                        = (*model.Stream).Response
	_                                                                                     = []error{model.ErrTruncated, model.ErrAbandoned, model.ErrBusy}
	_ model.Dialect                                                                       = contractDialect{}
	_ model.Reader                                                                        = contractReader{}
	_                                                                                     = []time.Duration{model.Timing{}.FirstByte, model.Timing{}.Total}
)

type contractCarrier struct{ routing.None }

func (contractCarrier) Members(routing.Session, routing.Turn) []routing.Member { return nil }
func (contractCarrier) Head(*routing.Attempt) error                            { return nil }
func (contractCarrier) Observe(*routing.Attempt, *http.Response, error)        {}
func (contractCarrier) End(*routing.Attempt) error                             { return nil }

type contractDialect struct{}

func (contractDialect) AppendTail(dst []byte, _ *model.Request) ([]byte, error) { return dst, nil }
func (contractDialect) NewReader(*model.Request) model.Reader                   { return contractReader{} }

type contractReader struct{}

func (contractReader) Message(json.RawMessage) error                       { return nil }
func (contractReader) Delta(json.RawMessage, func(model.Event) bool) error { return nil }
func (contractReader) Finish(string, bool) (*model.Response, error)        { return &model.Response{}, nil }
