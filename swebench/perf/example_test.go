package perf_test

import (
	"encoding/json"
	"fmt"

	"github.com/homing-go/homing/swebench/perf"
)

func Example() {
	plan, err := perf.New(perf.Config{
		Conversations: []perf.Conversation{{ID: "conv1", Turns: []perf.Turn{{Messages: []json.RawMessage{json.RawMessage(`{"role":"system","content":"You fix bugs."}`)}}}}},
		Trajectories:  2,
		Salt:          true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for k := range plan.Len() {
		t := plan.At(k)
		fmt.Printf("%s %s\n", t.ID, t.Turn(0).Messages[0])
	}
	// Output:
	// conv1 {"role":"system","content":"[salt: 4461]\n\nYou fix bugs.\n\n[salt: e643]"}
	// conv1__repeat_2 {"role":"system","content":"[salt: ba75]\n\nYou fix bugs.\n\n[salt: e643]"}
}
