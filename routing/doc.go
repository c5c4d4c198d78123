// Package routing keeps every request of one agent trajectory on the backend that
// holds its KV cache: it gives the trajectory a stable [ID], carries that ID on
// each request in the form that the router in front of the backends reads, and
// tells from the answers whether it worked.
//
// A [Session] travels in a context. A [Carrier] writes it onto requests; the
// default one sends the header X-Session-ID. A [Transport] applies a carrier to
// any HTTP client, and an [Audit] counts what came of it:
//
//	client := routing.Wrap(http.DefaultClient, nil)
//	ctx = routing.NewContext(ctx, routing.NewSession(routing.NewID()))
//	req, err := http.NewRequestWithContext(ctx, "POST", url, body)
//	...
//	res, err := client.Do(req) // carries X-Session-ID
//
// The package knows nothing of language models and imports no SDK.
package routing
