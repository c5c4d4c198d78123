package qwen

import (
	"strings"
	"unicode"

	"github.com/homing-go/homing/model"
)

// A foundCall is a call as it was found, before its name and its arguments are judged.
type foundCall struct {
	id, name string
	// arguments is the JSON value of the arguments; nil when they are absent. In a
	// structured call it should be a text, in a call out of the content an object.
	arguments  []byte
	structured bool
	// text is the text of the arguments where it came in pieces.
	text []byte
	// params are the parameters of the XML form, which isXML tells.
	isXML  bool
	params []xmlParam
	// junk is text between the parameters.
	junk string

	repairs []string
	// kind and reason are set when the call was found to be unsound.
	kind   Kind
	reason string
	// whole tells that nothing was missing, from the first tag to the last.
	whole bool
	// from and to are the offsets of the call in its text.
	from, to int
}

type xmlParam struct {
	name, value string
}

func (c *foundCall) mend(kind string) { c.repairs = append(c.repairs, kind) }

func (c *foundCall) refuse(kind Kind, reason string) { c.kind, c.reason = kind, reason }

// A catalog is what is known of the tools that were offered.
type catalog struct {
	tools *model.Tools
	// open takes any name, for histories whose tools are not known.
	open bool
}

func (c catalog) known(name string) bool {
	if c.open {
		return plausibleName(name)
	}
	_, ok := c.tools.Lookup(name)
	return ok
}

// properties returns the parameters of a tool, or nil.
func (c catalog) properties(name string) *properties {
	def, ok := c.tools.Lookup(name)
	if !ok {
		return nil
	}
	return parameters(def)
}

// parameters returns the properties of the object that a tool takes.
func parameters(def model.ToolDef) *properties {
	variants := schema{root: def.Parameters, node: def.Parameters}.variants()
	for i := range variants {
		if p := newProperties(&variants[i]); p != nil {
			return p
		}
	}
	return nil
}

func (c catalog) names() string {
	const limit = 50
	var names []string
	for _, def := range c.tools.Defs() {
		if len(names) == limit {
			names = append(names, "...")
			break
		}
		names = append(names, def.Name)
	}
	return strings.Join(names, ", ")
}

// plausibleName tells a name from a placeholder.
func plausibleName(name string) bool {
	found := false
	for _, r := range name {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			found = true
		case !strings.ContainsRune("_-.:/@", r) && !unicode.IsMark(r):
			return false
		}
	}
	return found && len(name) <= 256
}

// cleanName takes blanks and quotes off a name and returns what it mended.
func cleanName(raw string) (name, repair string) {
	name = strings.TrimSpace(raw)
	if name != raw {
		repair = RepairNameTrim
	}
	if n := len(name); n >= 2 && name[0] == name[n-1] && (name[0] == '"' || name[0] == '\'') {
		name, repair = strings.TrimSpace(name[1:n-1]), RepairNameQuotes
	}
	return name, repair
}
