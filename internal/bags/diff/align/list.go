// Package align compares the messages of one publisher in two bags: which are equal in the same order, which
// changed, which moved, and which are in one bag only.
//
// It is pure: the caller, package diff, reads the bags and collects 16 bytes of each message in lists.
// Nothing is kept between two calls.
package align

import (
	"hash/maphash"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Digest stands for a payload. Its lowest bit is set if the payload has more than smallPayload bytes; the
// other bits are a hash. The seed of the hash is random, so that nobody can make two payloads with the same
// digest.
type Digest uint64

// smallPayload is the size in bytes up to which payloads, such as a bool, are often equal by chance: if the
// other bag has an equal one elsewhere, the message need not have moved.
const smallPayload = 16

// DigestOf returns the digest of a payload. Digests of another seed are not comparable.
func DigestOf(seed maphash.Seed, payload []byte) Digest {
	d := Digest(maphash.Bytes(seed, payload)) &^ 1
	if len(payload) > smallPayload {
		d |= 1
	}
	return d
}

// Small reports whether the payload has at most smallPayload bytes.
func (d Digest) Small() bool { return d&1 == 0 }

// Item is what a list keeps of a message.
type Item struct {
	Sum  Digest
	Time rosbag.Time
}

// List holds consecutive messages of a publisher in one bag.
type List struct {
	Items  []Item
	Stamps []int64 // header stamps in nanoseconds; nil unless messages are paired by stamp
}

// Pop removes the first message.
func (l *List) Pop() { l.Items, l.Stamps = withoutFirst(l.Items), withoutFirst(l.Stamps) }

// Cut removes the first n messages of the list, and returns them.
func (l *List) Cut(n int) (first List) {
	first.Items, l.Items = splitAt(l.Items, n)
	first.Stamps, l.Stamps = splitAt(l.Stamps, n)
	return first
}

// splitAt splits a list after its first n elements, if it has that many. rest is a copy, so that the
// memory of first can be freed.
func splitAt[T any](list []T, n int) (first, rest []T) {
	n = min(n, len(list))
	return list[:n:n], append(rest, list[n:]...)
}

func withoutFirst[T any](list []T) []T {
	if len(list) < 2 {
		return list[:0] // the next append uses its memory again
	}
	return list[1:]
}
