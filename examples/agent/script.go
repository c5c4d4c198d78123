package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"

	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/routing/routingtest"
)

// run plays the agent against the scripted server and shows what the server saw.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.SetOutput(stderr)
	asJSON := flags.Bool("json", false, "print one JSON object; the calls go to standard error")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintln(stderr, "agent: want no arguments; see -h")
		return 2
	}
	log := stdout
	if *asJSON {
		log = stderr
	}
	seen := new(sessions)
	cluster, err := routingtest.NewCluster(routingtest.ClusterConfig{Backends: 2, Backend: routingtest.BackendConfig{Reply: seen.note(script())}})
	if err != nil {
		fmt.Fprintln(stderr, "agent:", err)
		return 1
	}
	defer cluster.Close() //nolint:errcheck // its work is done
	files := map[string]string{"greet.py": "print(\"helo\")\n"}
	tools, err := toolbox(files)
	var answer string
	session := routing.NewSession(routing.NewID())
	if err == nil {
		answer, err = agent(context.Background(), cluster.URL(), session, log, tools, "The greeting in greet.py is misspelt.")
	}
	if err != nil {
		fmt.Fprintln(stderr, "agent:", err)
		return 1
	}
	requests, carried := seen.counts(session.ID)
	if *asJSON {
		err = json.NewEncoder(stdout).Encode(map[string]any{"answer": answer, "file": files["greet.py"], "requests": requests, "carried_session": carried})
	} else {
		fmt.Fprintf(stdout, "%s\n\nThe file is now: %s%d of %d requests carried the session of the run.\n", answer, files["greet.py"], carried, requests)
	}
	if err != nil || carried != requests {
		return 1
	}
	return 0
}

// script is what the model says.
func script() routingtest.Reply {
	say := func(message string) routingtest.Answer { return routingtest.Answer{Message: json.RawMessage(message)} }
	return routingtest.Script(
		say(`{"role":"assistant","content":"I look at it.","reasoning":"Read first.","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\": \"greet.py\"}"}}]}`),
		// Quotes that are not escaped have more than one reading, so this call is refused.
		say(`{"role":"assistant","content":"","tool_calls":[{"id":"b","type":"function","function":{"name":"replace","arguments":"{\"path\": \"greet.py\", \"old\": \"\"helo\"\", \"new\": \"\"hello\"\"}"}}]}`),
		// A call in the text: the server has no parser for this form.
		say(`{"role":"assistant","content":"Once more.\n<tool_call>\n<function=replace>\n<parameter=path>\ngreet.py\n</parameter>\n<parameter=old>\nhelo\n</parameter>\n<parameter=new>\nhello\n</parameter>\n</function>\n</tool_call>"}`),
		say(`{"role":"assistant","content":"The greeting is spelt right now."}`),
	)
}

// sessions are those that the server saw, with the number of their requests.
type sessions struct {
	mu   sync.Mutex
	seen map[string]int
}

// note lets a reply take note of the session of each request.
func (s *sessions) note(reply routingtest.Reply) routingtest.Reply {
	return func(r *routingtest.Request) routingtest.Answer {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.seen == nil {
			s.seen = map[string]int{}
		}
		s.seen[r.HTTP.Header.Get(routing.DefaultHeader)]++
		return reply(r)
	}
}

// counts returns how many requests there were, and how many of them carried the ID.
func (s *sessions) counts(id routing.ID) (requests, carried int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.seen {
		requests += n
	}
	return requests, s.seen[string(id)]
}
