package qwen

import (
	"bytes"

	"github.com/homing-go/homing/internal/rawjson"
)

// properties are the parameters that an object schema names, in its order.
type properties struct {
	list     []property
	index    map[string]int // of a long list
	required int            // how many are required
	// rest is the schema of all other names, if there is one.
	rest *property
}

type property struct {
	name           []byte
	required, seen bool
	at             schema
	unfolded       []variant
}

// variants unfolds the property's schema once.
func (p *property) variants() []variant {
	if p.unfolded == nil {
		p.unfolded = p.at.variants()
	}
	return p.unfolded
}

// newProperties returns nil when the schema says nothing about names.
func newProperties(k *variant) *properties {
	if k.properties == nil && k.required == nil && rawjson.Kind(k.additional) != '{' {
		return nil
	}
	p := new(properties)
	if rawjson.Kind(k.properties) == '{' {
		for o := rawjson.Members(k.properties); o.Next(); {
			p.list = append(p.list, property{name: o.Key, at: k.at.at(o.Value)})
		}
	}
	if len(p.list) > 8 {
		p.index = make(map[string]int, len(p.list))
		for i := range p.list {
			p.index[string(p.list[i].name)] = i
		}
	}
	for a := rawjson.Elements(k.required); k.required != nil && a.Next(); {
		name := []byte(rawjson.Text(a.Value))
		known := p.find(name)
		if known == nil {
			if p.index != nil {
				p.index[string(name)] = len(p.list)
			}
			p.list = append(p.list, property{name: name})
			known = &p.list[len(p.list)-1]
		}
		if !known.required {
			known.required = true
			p.required++
		}
	}
	if rawjson.Kind(k.additional) == '{' {
		p.rest = &property{at: k.at.at(k.additional)}
	}
	return p
}

// find returns the property of that name, the one for all others, or nil.
func (p *properties) find(name []byte) *property {
	if p == nil {
		return nil
	}
	if p.index != nil {
		if i, ok := p.index[string(name)]; ok {
			return &p.list[i]
		}
		return p.rest
	}
	for i := range p.list {
		if bytes.Equal(p.list[i].name, name) {
			return &p.list[i]
		}
	}
	return p.rest
}

// named reports whether the schema names it.
func (p *properties) named(name string) bool {
	found := p.find([]byte(name))
	return found != nil && found != p.rest
}

// see notes that a parameter was given.
func (p *properties) see(name []byte) {
	if found := p.find(name); found != nil {
		found.seen = true
	}
}

// unseen reports whether the schema names a parameter that was not given yet.
func (p *properties) unseen(name string) bool { return p.named(name) && !p.find([]byte(name)).seen }

// missing returns the first required name that was not seen, in the order of the schema.
func (p *properties) missing() string {
	for i := range p.list {
		if p.list[i].required && !p.list[i].seen {
			return string(p.list[i].name)
		}
	}
	return ""
}
