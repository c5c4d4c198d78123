package model_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/routing/routingtest"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// exampleServer stands for a router with its backends.
func exampleServer(cfg routingtest.BackendConfig) *routingtest.Cluster {
	cluster, err := routingtest.NewCluster(routingtest.ClusterConfig{Backends: 4, Backend: cfg})
	if err != nil {
		panic(err)
	}
	return cluster
}

func Example() {
	server := exampleServer(routingtest.BackendConfig{})
	defer server.Close()

	client, err := model.New(model.Config{BaseURL: server.URL(), Model: "qwen3"})
	if err != nil {
		panic(err)
	}
	defer client.CloseIdleConnections()
	agent := model.NewTrajectory(client, routing.NewSession(routing.NewID()), model.System("Repeat what I say."))
	for _, text := range []string{"one", "two"} {
		answer, err := agent.Send(context.Background(), model.User(text))
		if err != nil {
			panic(err)
		}
		fmt.Println(answer.Text)
	}
	fmt.Println(agent.Snapshot().Len(), "messages")
	// Output:
	// one
	// two
	// 5 messages
}

// A call without a session fails before anything is sent.
func ExampleNew_session() {
	client, err := model.New(model.Config{BaseURL: "http://localhost:8000/v1", Model: "qwen3"})
	if err != nil {
		panic(err)
	}
	req := &model.Request{Messages: model.NewTranscript(model.User("hi")).Snapshot()}
	_, err = client.Generate(context.Background(), req)
	fmt.Println(errors.Is(err, routing.ErrNoSession))
	// Output: true
}

// Failures of any kind share one budget, and what is left is one typed error.
func ExampleNew_retry() {
	faults := new(routingtest.Faults)
	server := exampleServer(routingtest.BackendConfig{Faults: faults})
	defer server.Close()
	client, err := model.New(model.Config{
		BaseURL: server.URL(), Model: "qwen3", Retry: model.Retry{Max: 2, MinWait: time.Millisecond, MaxWait: time.Millisecond},
	})
	if err != nil {
		panic(err)
	}
	defer client.CloseIdleConnections()
	agent := model.NewTrajectory(client, routing.NewSession(routing.NewID()))

	faults.Next(2, routingtest.Status(500))
	answer, err := agent.Send(context.Background(), model.User("hi"))
	fmt.Println(answer.Text, answer.Timing.Attempts, err)

	faults.Next(3, routingtest.Status(503))
	_, err = agent.Send(context.Background(), model.User("hi"))
	fmt.Println(err)
	fmt.Println(errors.Is(err, model.KindOverloaded))
	// Output:
	// hi 3 <nil>
	// model: overloaded (status 503, 3 attempts)
	// true
}

func ExampleBase_Stream() {
	server := exampleServer(routingtest.BackendConfig{ChunkBytes: 4})
	defer server.Close()
	client, err := model.New(model.Config{BaseURL: server.URL(), Model: "qwen3"})
	if err != nil {
		panic(err)
	}
	defer client.CloseIdleConnections()
	agent := model.NewTrajectory(client, routing.NewSession(routing.NewID()))
	stream := agent.Stream(context.Background(), model.User("good morning"))
	for event, err := range stream.Events() {
		if err != nil {
			panic(err)
		}
		fmt.Print(event.Text, "|")
	}
	answer, err := stream.Response()
	fmt.Println(answer.Finish, err)
	// Output: good| mor|ning|stop <nil>
}

// Wrap keeps base URL, key, transport and middleware of a client that exists.
func ExampleWrap() {
	server := exampleServer(routingtest.BackendConfig{})
	defer server.Close()
	api := openai.NewClient(option.WithBaseURL(server.URL()), option.WithAPIKey("key"))
	client, err := model.Wrap(api, model.Config{Model: "qwen3"})
	if err != nil {
		panic(err)
	}
	answer, err := model.NewTrajectory(client, routing.NewSession(routing.NewID())).Send(context.Background(), model.User("hi"))
	fmt.Println(answer.Text, err)
	// Output: hi <nil>
}
