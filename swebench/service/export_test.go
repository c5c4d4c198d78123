package service

// Reads is how often the progress of a run was read from files.
func (s *Service) Reads(id string) int {
	r := s.find(id)
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	return r.progress.reads
}

// Leases is how many downloads of a run there are.
func (s *Service) Leases(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[id].readers
}

// Known is how many runs and keys the service remembers.
func (s *Service) Known() (runs, keys int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs), len(s.keys)
}

// Abandon ends the service as SIGKILL would: nothing more is written, but what its
// runners do goes on until they notice.
func (s *Service) Abandon() {
	s.mu.Lock()
	s.closing = true
	close(s.stop)
	for _, r := range s.runs {
		if !r.decided {
			r.decided = true // no state is written any more
			close(r.settled)
		}
		r.cancel()
	}
	s.mu.Unlock()
	s.work.Wait()
	_ = s.lock.Close()
}
