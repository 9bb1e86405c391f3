package live

// ClassOf and Classes are those of the shelves.
var ClassOf = classOf

const Classes = classes

// Locked calls f while the lock of the backlogs is held.
func (s *Store) Locked(f func()) {
	s.mu.Lock()
	defer s.unlock()
	f()
}
