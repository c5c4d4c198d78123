package service

import "context"

// enqueue puts a run at the end of the queue for a slot.
func (s *Service) enqueue(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, r)
	s.dispatch()
}

// dispatch gives free slots to the runs at the head of the queue; those that were
// cancelled meanwhile get none. The mutex is held.
func (s *Service) dispatch() {
	for s.busy < s.cfg.MaxConcurrentRuns && len(s.queue) > 0 {
		r := s.queue[0]
		s.queue = s.queue[1:]
		if !r.cancelled {
			s.busy++
			r.hasSlot = true
			close(r.turn)
		}
	}
}

// awaitSlot waits until the run has a slot or ctx has ended, and reports which.
func (s *Service) awaitSlot(ctx context.Context, r *run) bool {
	select {
	case <-r.turn:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.hasSlot
}

// freeSlot gives the slot of a run whose runner has returned to the next one.
func (s *Service) freeSlot() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.dispatch()
}
