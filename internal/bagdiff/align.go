package bagdiff

import "github.com/gorosbag/gorosbag/bagfmt"

// The reach of the search for where two streams agree again.
const (
	nearWindow  = 64      // messages that a difference is looked for in, by edit distance
	sureRun     = 8       // messages that agree in a row end it there
	anchorRun   = 4       // and here, where they are found by their digests:
	searchLimit = 1 << 17 // among so many messages of each bag
)

// digest is the beginning of the SHA-256 of a payload, or what messages are found by.
type digest [16]byte

// remembered is what is kept of a message that waits for its counterpart.
type remembered struct {
	sum   digest // of the payload
	stamp int64  // of the header, in nanoseconds, if messages are paired by it
	place place
}

// place is where a message is in its bag.
type place struct {
	conn *bagfmt.Connection
	time bagfmt.Time
	nth  uint32 // of the messages of the connection with that time
	size uint32 // of the payload
}

// rule says which messages of the two bags belong together.
type rule struct {
	byHeader  bool
	tolerance int64 // nanoseconds
}

func (r rule) same(a, b *remembered) bool {
	if r.byHeader {
		return distance(a.stamp, b.stamp) <= r.tolerance
	}
	return a.sum == b.sum
}

func distance(a, b int64) int64 {
	if a < b {
		return b - a
	}
	return a - b
}

// key is what a message is found by. Within a tolerance it may be one of those next to it.
func (r rule) key(m *remembered, next int64) (k digest) {
	if !r.byHeader {
		return m.sum
	}
	at := uint64(m.stamp/(r.tolerance+1) + next)
	for i := range 8 {
		k[i] = byte(at >> (8 * i))
	}
	return k
}

// results take what has become of the messages of two streams. Their numbers count from 0.
type results interface {
	pair(a, b *remembered, na, nb uint64)
	only(s Side, m *remembered, n uint64)
}

// aligner pairs the messages of two streams: the order of each stays, and as few as
// possible are left over. It is pure: it sees the messages one by one, in any interleaving
// of the two streams, and decides as soon as it can.
type aligner struct {
	rule
	out      results
	expected [2]uint64 // messages, as far as is known; prefers one of two equal solutions
	q        [2]queue
	ended    [2]bool
	far      *search // nil unless the streams disagree for longer than nearWindow

	gaveUp   bool // messages were paired by number, because nothing agreed in reach
	gaveUpAt uint64
}

// queue holds the messages that wait, in order.
type queue struct {
	items []remembered
	head  int
	first uint64 // number of the one at the head
}

func (q *queue) len() int             { return len(q.items) - q.head }
func (q *queue) at(i int) *remembered { return &q.items[q.head+i] }

func (q *queue) push(m remembered) {
	if q.head > 64 && q.head > len(q.items)/2 {
		q.items = append(q.items[:0], q.items[q.head:]...)
		q.head = 0
	}
	q.items = append(q.items, m)
}

func (q *queue) pop() {
	q.head++
	q.first++
	if q.head == len(q.items) {
		if q.items, q.head = q.items[:0], 0; cap(q.items) > 4*nearWindow {
			q.items = nil
		}
	}
}

// taken returns how many messages of a bag were seen.
func (x *aligner) taken(s Side) uint64 { return x.q[s].first + uint64(x.q[s].len()) }

// idle reports whether no message waits.
func (x *aligner) idle() bool { return x.q[A].len() == 0 && x.q[B].len() == 0 }

// mismatched reports whether the streams are known to differ in what waits.
func (x *aligner) mismatched() bool { return x.q[A].len() > 0 && x.q[B].len() > 0 }

// skip passes over a pair that the caller has compared. No message may be waiting.
func (x *aligner) skip() {
	x.q[A].first++
	x.q[B].first++
}

// add takes the next message of a stream.
func (x *aligner) add(s Side, m remembered) {
	q := &x.q[s]
	q.push(m)
	if x.far != nil {
		x.far.add(x, s, q.len()-1)
	}
	x.settle()
}

// end says that a stream has no more messages.
func (x *aligner) end(s Side) {
	if !x.ended[s] {
		x.ended[s] = true
		x.settle()
	}
}

// settle decides on what can be decided.
func (x *aligner) settle() {
	a, b := &x.q[A], &x.q[B]
	for {
		switch {
		case a.len() > 0 && b.len() > 0:
			switch x.heads() {
			case headsPair:
				x.pairHeads()
			case headsWait:
				return
			case headsOnlyA:
				x.drop(A)
			case headsOnlyB:
				x.drop(B)
			case headsDiffer:
				if !x.resolve() {
					return
				}
			}
		case a.len() > 0 && x.ended[B]:
			x.drop(A)
		case b.len() > 0 && x.ended[A]:
			x.drop(B)
		default:
			if max(a.len(), b.len()) < nearWindow {
				x.far = nil
			}
			return
		}
	}
}

type headsAre int

const (
	headsPair headsAre = iota
	headsWait          // for the next message of one
	headsOnlyA
	headsOnlyB
	headsDiffer
)

// heads says what the first waiting messages are to each other. Of two that are within the
// tolerance, but not of the same stamp, one may be nearer to the next of the other stream.
func (x *aligner) heads() headsAre {
	a, b := &x.q[A], &x.q[B]
	if !x.same(a.at(0), b.at(0)) {
		return headsDiffer
	}
	off := distance(a.at(0).stamp, b.at(0).stamp)
	if !x.byHeader || off == 0 {
		return headsPair
	}
	switch {
	case a.len() > 1 && distance(a.at(1).stamp, b.at(0).stamp) < off:
		return headsOnlyA
	case b.len() > 1 && distance(a.at(0).stamp, b.at(1).stamp) < off:
		return headsOnlyB
	case a.len() == 1 && !x.ended[A], b.len() == 1 && !x.ended[B]:
		return headsWait
	}
	return headsPair
}

// pairHeads pairs the first messages of both.
func (x *aligner) pairHeads() {
	x.out.pair(x.q[A].at(0), x.q[B].at(0), x.q[A].first, x.q[B].first)
	x.pop(A)
	x.pop(B)
}

// drop leaves the first message of a stream over.
func (x *aligner) drop(s Side) {
	x.out.only(s, x.q[s].at(0), x.q[s].first)
	x.pop(s)
}

func (x *aligner) pop(s Side) {
	if x.far != nil {
		x.far.forget(x, s)
	}
	x.q[s].pop()
}

// resolve finds out what became of the first messages, which differ. It reports false if
// it has to see more messages for that.
func (x *aligner) resolve() bool {
	a, b := &x.q[A], &x.q[B]
	full := a.len() >= searchLimit || b.len() >= searchLimit
	if x.far == nil {
		for s := range x.q {
			if x.q[s].len() < nearWindow && !x.ended[s] && !full {
				return false
			}
		}
		if x.resolveNear() {
			return true
		}
		x.far = newSearch(x)
	}
	if x.far.found && (x.far.at[A] < a.first || x.far.at[B] < b.first) {
		x.far.found = false // it is among those that were paired by number
	}
	switch {
	case x.far.found:
		i, j := int(x.far.at[A]-a.first), int(x.far.at[B]-b.first)
		x.far = nil
		x.replace(i, j)
	case x.ended[A] && x.ended[B]:
		x.far = nil
		tail := 0
		for tail < a.len() && tail < b.len() && x.same(a.at(a.len()-1-tail), b.at(b.len()-1-tail)) {
			tail++
		}
		x.replace(a.len()-tail, b.len()-tail)
	case full:
		x.giveUp()
		n := min(a.len(), b.len(), searchLimit/2)
		x.replace(n, n)
	default:
		return false
	}
	return true
}

// replace says that the first i messages of A have become the first j of B.
func (x *aligner) replace(i, j int) {
	a, b := &x.q[A], &x.q[B]
	for i > 0 && j > 0 {
		switch {
		case !x.byHeader || x.same(a.at(0), b.at(0)):
			x.pairHeads()
			i, j = i-1, j-1
		case a.at(0).stamp < b.at(0).stamp:
			x.drop(A)
			i--
		default:
			x.drop(B)
			j--
		}
	}
	for ; i > 0; i-- {
		x.drop(A)
	}
	for ; j > 0; j-- {
		x.drop(B)
	}
}

// giveUp notes that what follows is paired by number.
func (x *aligner) giveUp() {
	if !x.gaveUp {
		x.gaveUp, x.gaveUpAt = true, x.q[A].first
	}
}

// shed decides on messages without having seen enough, to release at least half of the memory.
func (x *aligner) shed() {
	x.giveUp()
	half := (x.q[A].len() + x.q[B].len()) / 2
	n := min(x.q[A].len(), x.q[B].len())
	x.replace(n, n)
	for s := range x.q {
		for x.q[s].len() > half {
			x.drop(Side(s))
		}
	}
	x.settle()
}

// search finds where two streams agree again, by the digests of all messages that wait.
type search struct {
	numbers [2]map[digest]uint64 // of the latest message with it
	found   bool
	at      [2]uint64 // numbers of the first messages that agree again
}

func newSearch(x *aligner) *search {
	f := &search{}
	for s := range x.q {
		f.numbers[s] = make(map[digest]uint64, x.q[s].len())
	}
	for s := range x.q {
		for i := range x.q[s].len() {
			f.add(x, Side(s), i)
		}
	}
	return f
}

// add takes message i of a queue.
func (f *search) add(x *aligner, s Side, i int) {
	q, other := &x.q[s], &x.q[s.other()]
	m := q.at(i)
	f.numbers[s][x.key(m, 0)] = q.first + uint64(i)
	if f.found {
		return
	}
	for next := int64(-1); next <= 1; next++ {
		if next != 0 && x.tolerance == 0 {
			continue
		}
		n, ok := f.numbers[s.other()][x.key(m, next)]
		if !ok {
			continue
		}
		k, run := int(n-other.first), 0
		for run <= i && run <= k && x.same(q.at(i-run), other.at(k-run)) {
			run++
		}
		if run >= anchorRun {
			f.found = true
			f.at[s], f.at[s.other()] = q.first+uint64(i-run+1), n-uint64(run-1)
			return
		}
	}
}

// forget removes the first message of a queue.
func (f *search) forget(x *aligner, s Side) {
	key := x.key(x.q[s].at(0), 0)
	if f.numbers[s][key] == x.q[s].first {
		delete(f.numbers[s], key)
	}
}
