package bagdiff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/msgheader"
	"github.com/gorosbag/gorosbag/rosbag"
)

// topic is all that both bags have under one name.
type topic struct {
	name     string
	conns    [2][]*rosbag.Connection
	messages [2]uint64 // as the indexes say
	joined   bool      // compared as one stream, though a bag has several publishers
	matched  bool      // publishers are told apart, by their callerids
	streams  []*stream
}

// stream is what is compared in order: what one publisher has published on one topic or, if
// the bags name the publishers differently, all that is on the topic.
type stream struct {
	topic     *topic
	publisher string // the callerid, if the topic has several streams
	conns     [2][]*rosbag.Connection
	byHeader  bool

	rule    pairing
	tally   *tally
	d       differing
	differs bool // what is in the lists is not the same
}

// findTopics finds the topics of both bags, and what of them is compared in order.
func (c *comparison) findTopics() {
	known := make(map[string]*topic)
	var counts [2]map[*rosbag.Connection]uint64
	for s, r := range c.bags {
		counts[s] = make(map[*rosbag.Connection]uint64)
		for i := range r.Chunks() {
			for _, n := range r.Chunks()[i].Counts {
				counts[s][n.Conn] += uint64(n.Count)
			}
		}
		for _, conn := range r.Connections() {
			if c.o.Keep != nil && !c.o.Keep(conn) {
				continue
			}
			t := known[conn.Topic]
			if t == nil {
				t = &topic{name: conn.Topic}
				known[conn.Topic] = t
				c.topics = append(c.topics, t)
			}
			t.conns[s] = append(t.conns[s], conn)
			t.messages[s] += counts[s][conn]
		}
	}
	slices.SortFunc(c.topics, func(a, b *topic) int { return strings.Compare(a.name, b.name) })
	for _, t := range c.topics {
		if len(t.conns[A]) > 0 && len(t.conns[B]) > 0 {
			t.pairPublishers(counts, c.o.ByHeader)
		}
	}
}

// pairPublishers makes the streams of a topic that both bags have. Publishers are told apart
// if both bags name the same ones. A player that stands for others has a name of its own,
// and publishes in the order of the bag.
func (t *topic) pairPublishers(counts [2]map[*rosbag.Connection]uint64, byHeader bool) {
	callers := func(s Side, silent bool) []string {
		var all []string
		for _, conn := range t.conns[s] {
			if silent || counts[s][conn] > 0 {
				all = append(all, conn.Header.CallerID())
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	t.matched = slices.Equal(callers(A, false), callers(B, false)) || slices.Equal(callers(A, true), callers(B, true))
	byName := make(map[string]*stream)
	for s := range t.conns {
		for _, conn := range t.conns[s] {
			name := ""
			if t.matched {
				name = conn.Header.CallerID()
			}
			st := byName[name]
			if st == nil {
				st = &stream{topic: t, publisher: name, byHeader: byHeader}
				byName[name] = st
				t.streams = append(t.streams, st)
			}
			st.conns[s] = append(st.conns[s], conn)
			if _, ok := msgheader.First(conn.Header.MessageDefinition()); !ok {
				st.byHeader = false
			}
		}
	}
	slices.SortFunc(t.streams, func(a, b *stream) int { return strings.Compare(a.publisher, b.publisher) })
	t.joined = !t.matched && (len(callers(A, true)) > 1 || len(callers(B, true)) > 1)
	if len(t.streams) == 1 {
		t.streams[0].publisher = ""
	}
}

// begin makes a stream ready for a pass.
func (st *stream) begin(o Options) {
	st.tally, st.differs = newTally(o), false
	st.rule = pairing{byStamp: st.byHeader, tolerance: int64(o.Tolerance)}
	st.d = differing{}
}

// add takes the next message of a bag. While the bags agree, it is kept only until the other
// bag has come as far.
func (st *stream) add(s Side, m item, stamp int64) {
	q, o := &st.d.lists[s], &st.d.lists[s.other()]
	if !st.differs && len(o.items) > 0 {
		if x := o.items[0]; x.sum == m.sum {
			pair := [2]item{m, m}
			pair[s.other()] = x
			st.tally.equal++
			st.tally.pair(st.d.agreed, st.d.agreed, pair[A], pair[B])
			st.d.agreed, st.d.before = st.d.agreed+1, m.sum
			o.pop()
			return
		}
		st.differs = true
	}
	q.items = append(q.items, m)
	if st.byHeader {
		q.stamps = append(q.stamps, stamp)
	}
}

// settle compares what is left of both bags, and forgets that.
func (st *stream) settle() {
	st.tally.settle(&st.d, st.rule)
	st.d = differing{}
}

// kept returns how many messages are in memory.
func (st *stream) kept() int { return len(st.d.lists[A].items) + len(st.d.lists[B].items) }

// before sorts streams.
func (st *stream) before(x *stream) bool {
	return cmp.Or(cmp.Compare(st.topic.name, x.topic.name), cmp.Compare(st.publisher, x.publisher)) < 0
}
