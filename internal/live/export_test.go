package live

// Locked calls f while the lock of the store is held.
func (s *Store) Locked(f func()) {
	s.lock()
	defer s.unlock()
	f()
}
