package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// fake is a Client from outside.
type fake struct {
	generate func(ctx context.Context, req *model.Request) (*model.Response, error)
	ended    []routing.Session
}

func (f *fake) Generate(ctx context.Context, req *model.Request) (*model.Response, error) {
	return f.generate(ctx, req)
}

func (f *fake) Stream(ctx context.Context, req *model.Request) *model.Stream {
	return model.NewStream(func(yield func(model.Event) bool) (*model.Response, error) {
		res, err := f.generate(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, c := range res.Text {
			if !yield(model.Event{Kind: model.EventText, Text: string(c)}) {
				return nil, model.ErrAbandoned
			}
		}
		return res, nil
	})
}

func (f *fake) End(ctx context.Context) error {
	s, _ := routing.FromContext(ctx)
	f.ended = append(f.ended, s)
	return nil
}

func says(text string) *model.Response {
	return &model.Response{Message: model.Assistant(text), Text: text}
}

func TestTrajectoryCommitsWholeTurns(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	var got [][]string
	var turns []int
	fail := false
	client := &fake{generate: func(ctx context.Context, req *model.Request) (*model.Response, error) {
		s, ok := routing.FromContext(ctx)
		require.True(t, ok)
		require.Equal(t, testID, s.ID)
		got = append(got, texts(t, req.Messages))
		turns = append(turns, routing.TurnFrom(ctx).Index)
		if fail {
			return nil, boom
		}
		return says("answer"), nil
	}}
	tr := model.NewTrajectory(client, routing.NewSession(testID), model.System("s"))
	// Neither another session nor Without in the context takes it away.
	other := routing.NewContext(context.Background(), routing.NewSession("other"))
	_, err := tr.Send(other, model.User("1"))
	require.NoError(t, err)
	fail = true
	_, err = tr.Send(routing.Without(context.Background()), model.User("lost"))
	require.ErrorIs(t, err, boom)
	_, err = tr.Stream(other, model.User("lost too")).Response()
	require.ErrorIs(t, err, boom)
	fail = false
	stream := tr.Stream(other, model.User("left"))
	for range stream.Events() {
		break
	}
	_, err = stream.Response()
	require.ErrorIs(t, err, model.ErrAbandoned)
	require.Equal(t, []string{"s", "1", "answer"}, texts(t, tr.Snapshot()))
	_, err = tr.Stream(other, model.User("2"), model.User("3")).Response()
	require.NoError(t, err)
	require.Equal(t, []string{"s", "1", "answer", "2", "3", "answer"}, texts(t, tr.Snapshot()))
	require.Equal(t, []string{"s", "1", "answer", "left"}, got[3])
	require.Equal(t, []int{1, 2, 2, 2, 2}, turns)
}

func TestTrajectoryIsBusy(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	client := &fake{generate: func(context.Context, *model.Request) (*model.Response, error) {
		close(entered)
		<-leave
		return says("answer"), nil
	}}
	tr := model.NewTrajectory(client, routing.NewSession(testID))
	done := make(chan error)
	go func() {
		_, err := tr.Send(context.Background(), model.User("1"))
		done <- err
	}()
	<-entered
	_, err := tr.Send(context.Background(), model.User("2"))
	require.ErrorIs(t, err, model.ErrBusy)
	_, err = tr.Stream(context.Background(), model.User("2")).Response()
	require.ErrorIs(t, err, model.ErrBusy)
	require.Empty(t, texts(t, tr.Fork(routing.NewSession("f")).Snapshot()), "a fork sees whole turns only")
	close(leave)
	require.NoError(t, <-done)
	require.Equal(t, []string{"1", "answer"}, texts(t, tr.Snapshot()))
}

func TestTrajectoryForks(t *testing.T) {
	t.Parallel()
	client := &fake{generate: func(context.Context, *model.Request) (*model.Response, error) { return says("answer"), nil }}
	tr := model.NewTrajectory(client, routing.NewSession(testID), model.System("s"))
	tr.Params.Seed = new(int64(1))
	_, err := tr.Send(context.Background(), model.User("1"))
	require.NoError(t, err)
	fork := tr.Fork(tr.Session().Child("tests"))
	require.Equal(t, tr.Params, fork.Params)
	require.Equal(t, testID, fork.Session().Parent)
	_, err = fork.Send(context.Background(), model.User("2"))
	require.NoError(t, err)
	_, err = tr.Send(context.Background(), model.User("3"))
	require.NoError(t, err)
	require.Equal(t, []string{"s", "1", "answer", "2", "answer"}, texts(t, fork.Snapshot()))
	require.Equal(t, []string{"s", "1", "answer", "3", "answer"}, texts(t, tr.Snapshot()))
	require.NoError(t, fork.End(routing.Without(context.Background())))
	require.Equal(t, []routing.Session{fork.Session()}, client.ended)
}

func TestTrajectoryRefuses(t *testing.T) {
	t.Parallel()
	client := &fake{generate: func(context.Context, *model.Request) (*model.Response, error) { return nil, nil }} //nolint:nilnil // a broken client
	tr := model.NewTrajectory(client, routing.NewSession(testID))
	var none context.Context
	_, err := tr.Send(none, model.User("1"))
	require.ErrorContains(t, err, "context is nil")
	_, err = tr.Stream(none, model.User("1")).Response()
	require.ErrorContains(t, err, "context is nil")
	require.ErrorContains(t, tr.End(none), "context is nil")
	_, err = tr.Send(context.Background(), model.User("1"))
	require.ErrorContains(t, err, "neither an answer")
	require.Zero(t, tr.Snapshot().Len())
}

func TestStreamIsUsedOnce(t *testing.T) {
	t.Parallel()
	runs := 0
	stream := model.NewStream(func(yield func(model.Event) bool) (*model.Response, error) {
		runs++
		yield(model.Event{Text: "a"})
		return says("a"), nil
	})
	require.Zero(t, runs, "a stream is lazy")
	for _, err := range stream.Events() {
		require.NoError(t, err)
	}
	for _, err := range stream.Events() {
		require.ErrorContains(t, err, "already used")
	}
	res, err := stream.Response()
	require.NoError(t, err)
	require.Equal(t, "a", res.Text)
	require.Equal(t, 1, runs)
}

// A history that was kept goes on byte for byte.
func TestHistoryIsKept(t *testing.T) {
	t.Parallel()
	client := &fake{generate: func(context.Context, *model.Request) (*model.Response, error) { return says("<answer> & more"), nil }}
	tr := model.NewTrajectory(client, routing.NewSession(testID), model.System("<s>"))
	_, err := tr.Send(context.Background(), model.User("1 < 2"))
	require.NoError(t, err)
	kept := tr.Snapshot().JSON()
	require.True(t, json.Valid(kept))
	history, err := model.ParseMessages(kept)
	require.NoError(t, err)
	again := model.NewTrajectory(client, tr.Session(), history...)
	require.Equal(t, string(kept), string(again.Snapshot().JSON()))
	for _, bad := range []string{"", "{}", "[1]", `[{"role":"user"}`} {
		_, err := model.ParseMessages(json.RawMessage(bad))
		require.Error(t, err, bad)
	}

	text, err := json.Marshal(map[string]any{"history": tr.Snapshot(), "one": model.User("1 < 2"), "none": model.Message{}})
	require.NoError(t, err)
	var back struct {
		History   []model.Message
		One, None model.Message
	}
	require.NoError(t, json.Unmarshal(text, &back))
	require.Len(t, back.History, 3)
	require.JSONEq(t, `{"role":"user","content":"1 < 2"}`, string(back.One.JSON()))
	require.Empty(t, back.None.Role())
}

func TestEmptyValuesSaySo(t *testing.T) {
	t.Parallel()
	_, err := new(model.Trajectory).Send(context.Background(), model.User("1"))
	require.ErrorContains(t, err, "NewTrajectory")
	_, err = model.NewTrajectory(new(fake), routing.Session{}).Send(context.Background(), model.User("1"))
	require.ErrorIs(t, err, routing.ErrNoSession)
	require.ErrorContains(t, err, "routing.NewSession(routing.NewID())")
	stream := model.NewStream(func(yield func(model.Event) bool) (*model.Response, error) {
		yield(model.Event{})
		return says("x"), nil
	})
	for range stream.Events() {
		_, err := stream.Response()
		require.ErrorContains(t, err, "behind the loop")
	}
	_, err = stream.Response()
	require.NoError(t, err)
}
