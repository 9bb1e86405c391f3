package bagdiff

import (
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/msgheader"
	"github.com/gorosbag/gorosbag/rosbag"
)

// topic is a topic that is in at least one of the bags.
type topic struct {
	name     string
	conns    [2][]*rosbag.Connection
	messages [2]uint64 // as the indexes say
	joined   bool      // there is one stream, although a bag has several publishers
	matched  bool      // there is a stream for each callerid
	streams  []*stream
}

// stream is a sequence of messages that is compared in order: the messages of one publisher on one topic or, if
// the bags name the publishers differently, all messages on the topic.
type stream struct {
	topic     *topic
	publisher string // the callerid, if the topic has several streams
	conns     [2][]*rosbag.Connection
	byHeader  bool // messages are paired by their header stamps
	putOff    bool // to another pass
	tally     *tally
}

// findTopics finds the topics of both bags and their streams.
func (c *comparison) findTopics() {
	known := make(map[string]*topic)
	var counts [2]map[*rosbag.Connection]uint64
	for s, r := range c.bags {
		counts[s] = rosbag.Counts(r)
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

// pairPublishers makes the streams of a topic that both bags have: one for each callerid if both bags have the
// same callerids, otherwise one for all. A player, for example, has another callerid than the publishers
// whose messages it plays, and publishes all of them in the order of the bag.
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
