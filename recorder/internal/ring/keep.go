package ring

import (
	"slices"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// Claim reserves n bytes for copies of latched messages, and reports whether it could. The chunks of a
// requested snapshot must not displace each other.
func (r *Ring) Claim(n int64) bool {
	if !r.mem.Fits(n) && (r.pending > 0 || !r.mem.MakeRoom(n, memory.ForAny)) {
		return false
	}
	r.mem.Use(n)
	return true
}

// OwnMemory returns memory for a sealed record of n bytes, nil if the record stays in its buffer: the
// record fills the buffer well, or all memory waits for the disk. counted is how many bytes the memory
// counts for the buffer. A record that does not fill its buffer well, because it is compressed or was
// sealed early, gets memory of its own, so that the ring reaches far back.
func (r *Ring) OwnMemory(n int, counted int64) []byte {
	if 4*int64(n) >= 3*counted {
		return nil
	}
	if spare := r.takeSpare(n); spare != nil {
		return spare // counted already
	}
	// The chunks of a requested snapshot must not displace each other: this chunk comes back in a moment.
	if (r.pending == 0 || n > 2*r.mem.ChunkBytes()) && !r.mem.MakeRoom(int64(n), memory.ForAny) {
		return nil
	}
	r.mem.Use(int64(n))
	return make([]byte, 0, n)
}

// takeSpare returns spare memory that n bytes fill well, or nil.
func (r *Ring) takeSpare(n int) []byte {
	for i, m := range r.spare {
		if cap(m) >= n && cap(m) <= n+n/2 {
			r.spare = slices.Delete(r.spare, i, i+1)
			return m[:0]
		}
	}
	return nil
}
