package routing

import (
	"errors"
	"net/http"
)

// Join returns a carrier that does what all of cs do, in their order; nil ones are
// left out. Of two that set the same header or cookie the first counts. End asks all
// of them, whatever errors come.
func Join(cs ...Carrier) Carrier {
	j := new(joined)
	for _, c := range cs {
		if c != nil {
			j.carriers = append(j.carriers, c)
		}
	}
	if len(j.carriers) == 1 {
		return j.carriers[0]
	}
	return j
}

type joined struct {
	carriers []Carrier
}

func (j *joined) Members(s Session, t Turn) []Member {
	var members []Member
	for _, c := range j.carriers {
		members = append(members, c.Members(s, t)...)
	}
	return members
}

func (j *joined) Head(a *Attempt) error {
	for i, c := range j.carriers {
		if err := c.Head(a); err != nil {
			// Those that had their Head are owed an Observe: one may hold a lock.
			for _, done := range j.carriers[:i] {
				done.Observe(a, nil, err)
			}
			return err
		}
	}
	return nil
}

func (j *joined) Observe(a *Attempt, res *http.Response, err error) {
	for _, c := range j.carriers {
		c.Observe(a, res, err)
	}
}

func (j *joined) End(a *Attempt) error {
	var errs []error
	for _, c := range j.carriers {
		errs = append(errs, c.End(a))
	}
	return errors.Join(errs...)
}
