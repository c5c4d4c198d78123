// Package model has the client interface for chat models and a base client for
// OpenAI-compatible servers that keeps each agent trajectory on one backend: the
// session of the context goes out with every request, on every attempt, plain or
// streamed, and a call without a session fails instead of going anywhere.
//
// A [Trajectory] ties a session, a history and a client together:
//
//	client, err := model.New(model.Config{BaseURL: "http://localhost:8000/v1", Model: "qwen3"})
//	...
//	trajectory := model.NewTrajectory(client, routing.NewSession(routing.NewID()), model.System("You fix bugs."))
//	answer, err := trajectory.Send(ctx, model.User("The test fails."))
//
// Histories are encoded once. A turn costs what its own messages cost, however long the
// history is, and the bytes of old messages never change, which is what the prefix
// caches of the backends compare.
//
// What a model family does differently goes into a [Dialect]. It transforms bytes and
// cannot send any, so no client type made of [Base] can lose the session; what
// modeltest.Conformance checks for each of them.
package model
