// Package routingtest provides routers and OpenAI-compatible backends that run
// inside the process, as net/http/httptest provides servers: enough of an
// inference cluster to see whether a client keeps its sessions in place.
//
// A [Backend] is an http.Handler that speaks chat completions, plain and
// streamed, and remembers the prompts it has processed. It reports as cached
// what it has seen before, by the bytes of the messages alone; headers and
// sessions mean nothing to it. So the cached tokens in its answers prove that a
// conversation stayed on one backend, and nothing else can make them up.
//
// A [Router] spreads requests over backends, or over any handlers, by a
// [Policy]: [ConsistentHash], [Sticky], [IssuedToken], [RoundRobin] or
// [LeastLoaded]. A [Cluster] is several backends behind one router on a
// loopback listener:
//
//	c, err := routingtest.NewCluster(routingtest.ClusterConfig{Backends: 8})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	// c.URL() is the base URL for a client: http://127.0.0.1:41327/v1
//
// What a backend says is up to a [Reply]: [Echo], [Script], [Recorded] or a
// function. What goes wrong is up to [Faults]: statuses, redirects, delays, cut
// bodies and streams, connection resets, errors inside a response of status 200.
//
// # Tokens and the prefix cache
//
// A token is four bytes, rounded up for each message. A prompt is the value of
// "tools", if there is one, followed by the elements of "messages", each as the
// bytes that arrived; requests for different models share nothing. The cached
// tokens of a request are those of the longest run of leading parts that this
// backend has received before, in the same order. Answers enter the cache only
// as part of the next prompt. While a history grows at its end and stays on one
// backend, the cached tokens of turn n are therefore exactly the prompt tokens
// of turn n-1; a client that encodes an old message anew loses its hits from
// there on, as it would with a real engine.
package routingtest
