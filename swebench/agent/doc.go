// Package agent runs one trajectory of a SWE-bench agent: a loop of a model, tools and a
// sandbox, from the text of an issue to a patch. It behaves as mini-swe-agent 2.4.6 does
// where that is right, reads its configuration files, and writes its trajectory format.
//
//	outcome, err := agent.Run(ctx, agent.Config{
//		Client: client, Sandbox: box, Template: agent.QwenTools(), Journal: journal,
//	}, agent.Task{InstanceID: "django__django-1", Problem: issue})
//
// Every request of a trajectory carries one session, so a router keeps it on one backend.
//
// # Handing in
//
// A task ends by what the model says and never by what is printed. With [QwenTools] that is
// a call of finish, with the names of the files. With [Default], whose only tool is bash, it
// is a command that itself says the marker; see there. [Config.MarkerEnds] is the
// compatibility with harnesses that look at the output alone.
//
// Patches are bytes. Those made here are compared with the commit of the start, whatever the
// model commits, and files that are no UTF-8 go in git's binary form, since predictions are
// JSON. A patch that a command of the model prints is taken as it is, and made again by git
// where it has bytes that are no UTF-8. One that is longer than [Limits.Patch] is not taken.
//
// # Limits
//
// Every trajectory ends: by steps, time, tokens, cost, or unfit answers in a row; one command,
// one answer and a patch have limits of their own. [ExitStatus] names the end, and tells
// failures of endpoint and sandbox apart from those of the model, whatever it does.
//
// # Journal
//
// With a [FileJournal] each step is on disk before the next begins. After a crash [Replay]
// goes on from there, under the same session. [WriteTrajectory] writes the steps as a file
// that tools for mini-swe-agent read.
package agent
