// Package align compares the messages of one publisher in two bags: which are the same in the
// same order, which have changed, which have moved and which one bag has alone.
//
// Its lists hold 16 bytes for each message, which the caller has collected. Everything here is
// pure: no bag is read, and nothing is kept between two calls. The caller is bagdiff.
package align

import (
	"hash/maphash"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Digest stands for a payload. Its lowest bit says that the payload is longer than
// smallPayload; the others are a hash, whose seed is another one in each comparison so that
// nobody can make two payloads of the same digest.
type Digest uint64

// Small payloads, such as a bool, repeat by themselves: that one of them is in the other bag,
// too, does not say that it has moved.
const smallPayload = 16

// DigestOf returns the digest of a payload. Digests of another seed are not comparable.
func DigestOf(seed maphash.Seed, payload []byte) Digest {
	d := Digest(maphash.Bytes(seed, payload)) &^ 1
	if len(payload) > smallPayload {
		d |= 1
	}
	return d
}

// Small reports whether the payload is.
func (d Digest) Small() bool { return d&1 == 0 }

// Item is what is kept of a message.
type Item struct {
	Sum  Digest
	Time rosbag.Time
}

// List holds consecutive messages of a publisher in one bag.
type List struct {
	Items  []Item
	Stamps []int64 // of the headers, in nanoseconds; nil unless messages are paired by stamp
}

// Pop forgets the first message.
func (l *List) Pop() { l.Items, l.Stamps = withoutFirst(l.Items), withoutFirst(l.Stamps) }

// Cut returns the first n messages, and the others in memory of their own.
func (l *List) Cut(n int) (first, rest List) {
	if first = *l; n == len(l.Items) {
		return first, List{}
	}
	first.Items, rest.Items = l.Items[:n:n], slices.Clone(l.Items[n:])
	if l.Stamps != nil {
		first.Stamps, rest.Stamps = l.Stamps[:n:n], slices.Clone(l.Stamps[n:])
	}
	return first, rest
}

func withoutFirst[T any](list []T) []T {
	if len(list) < 2 {
		return list[:0] // whose memory is used again
	}
	return list[1:]
}
