// Package modeltest proves that a [model.Client] keeps its promises, whoever wrote
// it: on the wire, with a server that sees the bytes.
//
// [Conformance] is one call in a test:
//
//	func TestClient(t *testing.T) {
//		modeltest.Conformance(t, func(t *testing.T, url string, c routing.Carrier) model.Client {
//			client, err := model.New(model.Config{BaseURL: url, Model: "m", Carrier: c})
//			if err != nil {
//				t.Fatal(err)
//			}
//			return client
//		})
//	}
//
// A [Server] answers by a script, one [Step] for each request, and records what it
// was sent. It listens on a loopback socket and reads the requests itself, so that
// [Recorded] shows the header lines as they were: their spelling, their order, and
// how often each was there. What the script and the client disagree about fails the
// test: a step that no request asked for, a request without a step.
//
// [Replay] is a transport that answers from a file, and [Record] writes such files by
// way of a real server: without secrets, and with SESSION-1 and so on in the place of
// session IDs, so that a later run, whose IDs are others, is answered the same.
package modeltest
