package qwen

import (
	"sort"
	"strings"
)

type tagKind uint8

const (
	noTag tagKind = iota
	toolOpen
	toolClose
	functionOpen
	functionClose
	paramOpen
	paramClose
)

const (
	toolOpenTag  = "<tool_call>"
	toolCloseTag = "</tool_call>"
	thinkOpen    = "<think>"
	thinkClose   = "</think>"
)

// tagTexts are the tags of tool calls, by kind. Those of functions and parameters go on
// with a name.
var tagTexts = [...]string{
	toolOpen: toolOpenTag, toolClose: toolCloseTag,
	functionOpen: "<function=", functionClose: "</function>",
	paramOpen: "<parameter=", paramClose: "</parameter>",
}

// tagAt returns the tag at the start of text. partial reports that the text may be the
// beginning of one.
func tagAt(text string) (kind tagKind, partial bool) {
	for kind := toolOpen; kind <= paramClose; kind++ {
		tag := tagTexts[kind]
		if strings.HasPrefix(text, tag) {
			return kind, false
		}
		partial = partial || len(text) < len(tag) && strings.HasPrefix(tag, text)
	}
	return noTag, partial
}

// A tag is one tag in a text.
type tag struct {
	kind tagKind
	at   int
}

// to is the offset behind the fixed part of the tag.
func (t tag) to() int { return t.at + len(tagTexts[t.kind]) }

// tagList holds the tags of a text in their order.
type tagList []tag

func findTags(text string) tagList {
	var list tagList
	for i := 0; ; {
		next := strings.IndexByte(text[i:], '<')
		if next < 0 {
			return list
		}
		i += next
		if kind, _ := tagAt(text[i:]); kind != noTag {
			list = append(list, tag{kind: kind, at: i})
		}
		i++
	}
}

// from returns the index of the first tag at or behind an offset.
func (l tagList) from(offset int) int {
	return sort.Search(len(l), func(i int) bool { return l[i].at >= offset })
}

// at returns the kind of the tag at exactly that offset.
func (l tagList) at(offset int) tagKind {
	if i := l.from(offset); i < len(l) && l[i].at == offset {
		return l[i].kind
	}
	return noTag
}

// nextOf returns the first tag at or behind an offset that has one of the kinds.
func (l tagList) nextOf(offset int, kinds ...tagKind) (tag, bool) {
	for _, t := range l[l.from(offset):] {
		for _, kind := range kinds {
			if t.kind == kind {
				return t, true
			}
		}
	}
	return tag{}, false
}
