package config

import (
	"fmt"
	"strconv"
	"strings"
)

// An Error tells what is wrong with a configuration. It shows no keys, tokens or URLs.
type Error struct {
	// Dataset is the name of the dataset that it is about; "" if it is about none.
	Dataset string
	// Key is the path of the key, such as accuracy_config.extras.workers.
	Key    string
	Reason string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("config: ")
	if e.Dataset != "" {
		b.WriteString("dataset " + strconv.Quote(e.Dataset) + ": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Reason
}

func fault(key, format string, args ...any) error {
	return &Error{Key: key, Reason: fmt.Sprintf(format, args...)}
}
