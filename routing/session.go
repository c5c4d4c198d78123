package routing

import "github.com/google/uuid"

// A Session is the routing identity of a trajectory and its place in the tree of
// trajectories that agents and their sub-agents make. Its JSON form restores it,
// so that a resumed trajectory finds its backend again.
type Session struct {
	ID     ID `json:"id"`
	Parent ID `json:"parent,omitempty"`
	// Root is the ID at the top of the tree; zero means ID itself.
	Root ID `json:"root,omitempty"`
}

// NewSession returns the session of a trajectory without a parent.
func NewSession(id ID) Session { return Session{ID: id} }

// Child returns the session of a sub-agent: with an ID of its own, so that agents
// working side by side do not crowd one backend, and with s as its parent for
// routers that use it. The same name is the same child on every machine: number
// the names of children that are to differ.
//
// The ID is the UUID version 5 in the name space
// b2b0a8c4-7c55-5a4f-8a1d-5e9f4c6d2e71 of the parent's ID and the name, written as
// for [Derive]. The child of a session without an ID has none either.
func (s Session) Child(name string) Session {
	if s.ID == "" {
		return Session{}
	}
	b := appendPart(appendPart(nil, string(s.ID)), name)
	return Session{ID: fromUUID(uuid.NewSHA1(childSpace, b)), Parent: s.ID, Root: s.root()}
}

func (s Session) root() ID {
	if s.Root != "" {
		return s.Root
	}
	return s.ID
}

// check is asked before each request. Parent and root travel with some carriers, so
// they are held to what the ID is held to.
func (s Session) check() error {
	if err := s.ID.check(); err != nil {
		return err
	}
	if s.Parent != "" {
		if fault := s.Parent.fault(); fault != "" {
			return &IDError{Reason: "of the parent, " + fault}
		}
	}
	if s.Root != "" {
		if fault := s.Root.fault(); fault != "" {
			return &IDError{Reason: "of the root, " + fault}
		}
	}
	return nil
}
