package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func TestWrap(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(&out))
	id := routing.Derive("run-1", "task-7")
	require.Equal(t, fmt.Sprintf("/openai/chat/completions carries %s\n/bare carries %s\n", id, id), out.String())
}
