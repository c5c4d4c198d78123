package model

import (
	"context"
	"net/http"
	"time"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/live"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/realtime"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/webhooks"
)

// API returns a client for the endpoints that Base does not know. Its requests carry
// the session of their context, or are under [routing.Without], or fail with
// [routing.ErrNoSession]; they go through the same retry layer and fail with the same
// errors. Retries of the SDK's own stay off. WebSocket sessions are not covered: they
// do not pass the SDK's middleware.
func (b *Base) API() openai.Client {
	// openai.NewClient would read keys, headers and a base URL from the environment
	// and send them along.
	opts := []option.RequestOption{option.WithBaseURL("http://none.invalid"), option.WithMiddleware(func(req *http.Request, _ nextFunc) (*http.Response, error) {
		return doNotRetry(nil, req), errNotMade
	})}
	if b != nil && b.retry != nil {
		opts = b.api.Options
	}
	return openai.Client{
		Options:                 opts,
		Decisions:               openai.NewDecisionService(opts...),
		Completions:             openai.NewCompletionService(opts...),
		Chat:                    openai.NewChatService(opts...),
		Embeddings:              openai.NewEmbeddingService(opts...),
		Files:                   openai.NewFileService(opts...),
		Images:                  openai.NewImageService(opts...),
		ContentProvenanceChecks: openai.NewContentProvenanceCheckService(opts...),
		Audio:                   openai.NewAudioService(opts...),
		Moderations:             openai.NewModerationService(opts...),
		Models:                  openai.NewModelService(opts...),
		FineTuning:              openai.NewFineTuningService(opts...),
		Graders:                 openai.NewGraderService(opts...),
		VectorStores:            openai.NewVectorStoreService(opts...),
		Safety:                  openai.NewSafetyService(opts...),
		Webhooks:                webhooks.NewWebhookService(opts...),
		Beta:                    openai.NewBetaService(opts...),
		Batches:                 openai.NewBatchService(opts...),
		Uploads:                 openai.NewUploadService(opts...),
		Admin:                   openai.NewAdminService(opts...),
		Responses:               responses.NewResponseService(opts...),
		Live:                    live.NewLiveService(opts...),
		Realtime:                realtime.NewRealtimeService(opts...),
		Conversations:           conversations.NewConversationService(opts...),
		Containers:              openai.NewContainerService(opts...),
		Skills:                  openai.NewSkillService(opts...),
		Videos:                  openai.NewVideoService(opts...), //nolint:staticcheck // deprecated, and still part of the client
	}
}

// enterAPI is enter for requests that the SDK encoded.
func (b *Base) enterAPI(req *http.Request, next nextFunc) (*http.Response, error) {
	ctx := req.Context()
	if err := routing.Check(ctx); err != nil {
		return doNotRetry(nil, req), err
	}
	turn := routing.TurnFrom(ctx)
	if turn.Model == "" {
		turn.Model = b.cfg.Model
	}
	c := &call{base: b, start: time.Now()}
	c.ctx = context.WithValue(routing.WithTurn(ctx, turn), callKey{}, c)
	req = req.WithContext(c.ctx) //nolint:contextcheck // it is made of the request's own
	c.note(req)
	b.dropTelemetry(req)
	res, err := either(next(req))
	if err != nil {
		return doNotRetry(nil, req), c.fail(err)
	}
	if c.attempts == 0 {
		_ = res.Body.Close()
		return doNotRetry(nil, req), &ConfigError{
			Field: "API", Reason: "the request went out without the session: option.WithHTTPClient takes it off the client's own transport, and so does a middleware that answers by itself; remove it",
		}
	}
	if c.failure != nil {
		return doNotRetry(res, req), c.fail(sdkError(res, c.failure))
	}
	return res, nil
}

// sdkError is the error that the SDK would make of a response.
func sdkError(res *http.Response, failure *Error) error {
	e := &openai.Error{StatusCode: res.StatusCode, Request: res.Request, Response: res}
	if inner := rawjson.Get(failure.Body, "error"); inner != nil {
		_ = e.UnmarshalJSON(inner) // an odd envelope leaves the fields empty, as in the SDK
	}
	e.StatusCode, e.Request, e.Response = res.StatusCode, res.Request, res
	return e
}

// doNotRetry marks a response so that the SDK does not try again what the retry layer
// gave up; beside an error a nil response is made up for that.
func doNotRetry(res *http.Response, req *http.Request) *http.Response {
	if res == nil {
		res = &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: http.NoBody, Request: req}
	}
	res.Header.Set("X-Should-Retry", "false")
	return res
}
