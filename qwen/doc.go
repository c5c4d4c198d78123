// Package qwen is the client for models of the Qwen family. It turns what they really
// write, through the servers that people really run, into sound tool calls or into a clear
// report to the model, and it keeps the routing headers: a [Client] is a [model.Base] with
// a dialect, so its requests carry the session as any other client's do.
//
//	client, err := qwen.New(qwen.Config{
//		Config: model.Config{BaseURL: "http://localhost:8000/v1", Model: "Qwen/Qwen3.6-35B-A3B"},
//	})
//	trajectory := model.NewTrajectory(client, routing.NewSession(routing.NewID()), model.System("You fix bugs."))
//
// # Reading
//
// Models of this family write calls in a JSON and in an XML form. When a server's parser
// does not fit, or the model slips, calls stay in the content or at the end of thinking.
// The dialect reads structured calls, both forms in the content, and calls that end
// thinking which was never closed; never those in closed thinking, in fences or in inline
// code. A fault has one of three answers:
//
//   - It has one reading and nothing is lost: it is mended and recorded in
//     [model.Response.Repairs].
//   - It has several: the call is refused with a [CallError] that tells the model what is
//     wrong and what would be right. Nothing of that answer is run; see [Check] and
//     [FormatError].
//   - The attempt failed, on the way or in the server: it is tried again, and the model
//     never sees it. [KindOf] classes such errors.
//
// Arguments are fitted to the JSON schema of the tool. Digits, texts and the order of keys
// stay as they were written.
//
// # Replay
//
// [model.Response.Message] is the answer in the form in which the chat templates want it
// back, made once, so the bytes of the history never change: thinking under both names
// that servers read, calls structured, arguments the text of a JSON object. [Replay] does
// the same for histories from elsewhere.
//
// # SWE-bench
//
// A [Toolset] has the three tools of SWE-bench agents and turns their calls into typed
// actions. An [Executor] carries them out; content travels over standard input, since one
// argument of a process is small, and a submission is typed, so that no file can end the
// task by what it holds.
package qwen
