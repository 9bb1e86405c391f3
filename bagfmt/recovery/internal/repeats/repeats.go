// Package repeats detects chunks that a file contains twice, as in a tail that was written twice. It
// keeps a checksum and a length of each chunk, and compares the bytes of those that are equal in both.
package repeats

import (
	"bytes"
	"io"
)

const maxSeen = 1 << 18 // chunks remembered

// Finder detects chunks that the file contains twice.
type Finder struct {
	Possible bool // repeats may follow: after the end of a bag, or after damage

	file io.ReaderAt
	seen map[key]int64 // data offsets of the chunks read
}

// key distinguishes most chunks without comparing their data.
type key struct {
	crc    uint32
	stored int
}

// New returns a Finder for a file.
func New(file io.ReaderAt) Finder { return Finder{file: file, seen: make(map[key]int64)} }

// IsRepeat reports whether a chunk identical to this one, whose stored data is at offset data and has the
// crc32c crc, was read before and repeats are possible.
func (f *Finder) IsRepeat(crc uint32, data int64, stored []byte) bool {
	if len(stored) == 0 {
		return false
	}
	k := key{crc, len(stored)}
	at, ok := f.seen[k]
	if !ok {
		if len(f.seen) < maxSeen {
			f.seen[k] = data
		}
		return false
	}
	if !f.Possible {
		return false
	}
	old := io.NewSectionReader(f.file, at, int64(len(stored)))
	var buf [4096]byte
	for rest := stored; len(rest) > 0; {
		n, err := io.ReadFull(old, buf[:min(len(buf), len(rest))])
		if err != nil || !bytes.Equal(buf[:n], rest[:n]) {
			return false
		}
		rest = rest[n:]
	}
	return true
}
