package bagdiff

import (
	"hash/maphash"

	"github.com/gorosbag/gorosbag/internal/msgheader"
	"github.com/gorosbag/gorosbag/rosbag"
)

// digest stands for a payload. Its lowest bit says that the payload is longer than
// smallPayload; the others are a hash, whose seed is another one in each comparison so that
// nobody can make two payloads of the same digest.
type digest uint64

// Small payloads, such as a bool, repeat by themselves: that one of them is in the other bag,
// too, does not say that it has moved.
const smallPayload = 16

func digestOf(seed maphash.Seed, payload []byte) digest {
	d := digest(maphash.Bytes(seed, payload)) &^ 1
	if len(payload) > smallPayload {
		d |= 1
	}
	return d
}

// small reports whether the payload is.
func (d digest) small() bool { return d&1 == 0 }

// item is what is kept of a message.
type item struct {
	sum  digest
	time rosbag.Time
}

// queue holds consecutive messages of a stream in one bag.
type queue struct {
	items  []item
	stamps []int64 // of their headers, in nanoseconds; nil unless messages are paired by them
}

// pop forgets the first message.
func (q *queue) pop() { q.items, q.stamps = withoutFirst(q.items), withoutFirst(q.stamps) }

func withoutFirst[T any](list []T) []T {
	if len(list) < 2 {
		return list[:0] // whose memory is used again
	}
	return list[1:]
}

// stampOf returns the stamp of the header that a message begins with, 0 if it is too short.
func stampOf(payload []byte) int64 {
	sec, nsec, _ := msgheader.Stamp(payload)
	return int64(sec)*1e9 + int64(nsec)
}
