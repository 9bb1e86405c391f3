package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/bags/diff/report"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/rosbag"
)

// topic is a topic that is in at least one of the bags.
type topic struct {
	report.Topic
	conns   [2][]*rosbag.Connection
	streams []*stream // none if only one bag has the topic
}

// stream is a sequence of messages that is compared in order: the messages of one publisher on one topic
// or, if the bags name the publishers differently, all messages on the topic.
type stream struct {
	topic     *topic
	publisher string // the callerid, if the topic has several streams
	conns     [2][]*rosbag.Connection
	byHeader  bool   // messages are paired by their header stamps
	tally     *tally // nil if the stream was put off to another pass
}

// findTopics finds the topics of both bags and their streams, and compares the connection headers.
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
				t = &topic{Topic: report.Topic{Name: conn.Topic}}
				known[conn.Topic] = t
				c.topics = append(c.topics, t)
			}
			t.conns[s] = append(t.conns[s], conn)
			if Side(s) == A {
				t.MessagesA += counts[s][conn]
			} else {
				t.MessagesB += counts[s][conn]
			}
		}
	}
	slices.SortFunc(c.topics, func(a, b *topic) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range c.topics {
		switch {
		case len(t.conns[A]) == 0:
			t.OnlyIn = B.String()
		case len(t.conns[B]) == 0:
			t.OnlyIn = A.String()
		default:
			t.findStreams(counts, c.o.ByHeader)
		}
	}
}

// findStreams makes the streams of a topic that both bags have: one for each callerid if both bags have the
// same callerids, otherwise one for all. A player, for example, has another callerid than the publishers
// whose messages it plays, and publishes all of them in the order of the bag.
func (t *topic) findStreams(counts [2]map[*rosbag.Connection]uint64, byHeader bool) {
	var publishers, heard [2][]string // heard: those with messages
	for s := range t.conns {
		for _, conn := range t.conns[s] {
			publishers[s] = append(publishers[s], conn.Header.CallerID())
			if counts[s][conn] > 0 {
				heard[s] = append(heard[s], conn.Header.CallerID())
			}
		}
		publishers[s], heard[s] = distinct(publishers[s]), distinct(heard[s])
	}
	matched := slices.Equal(heard[A], heard[B]) || slices.Equal(publishers[A], publishers[B])
	t.Headers = CompareHeaders(t.conns[A], t.conns[B], matched)
	if !matched && (len(publishers[A]) > 1 || len(publishers[B]) > 1) {
		t.Notes = append(t.Notes,
			fmt.Sprintf("compared as one stream, because its publishers are %s in A and %s in B",
				enumerated(publishers[A]), enumerated(publishers[B])))
	}
	byName := make(map[string]*stream)
	for s := range t.conns {
		for _, conn := range t.conns[s] {
			name := ""
			if matched {
				name = conn.Header.CallerID()
			}
			st := byName[name]
			if st == nil {
				st = &stream{topic: t, publisher: name, byHeader: byHeader}
				byName[name] = st
				t.streams = append(t.streams, st)
			}
			st.conns[s] = append(st.conns[s], conn)
			if _, ok := stdmsg.FirstField(msgdef.DefinitionOf(conn.Header)); !ok {
				st.byHeader = false
			}
		}
	}
	slices.SortFunc(t.streams, func(a, b *stream) int { return strings.Compare(a.publisher, b.publisher) })
	if len(t.streams) == 1 {
		t.streams[0].publisher = ""
	}
}

// distinct sorts names, and returns each once.
func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// enumerated lists the first publishers in words.
func enumerated(publishers []string) string {
	const most = 5
	list := slices.Clone(publishers)
	if i := slices.Index(list, ""); i >= 0 {
		list[i] = "(unknown)"
	}
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}
