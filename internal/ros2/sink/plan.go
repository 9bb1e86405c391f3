package sink

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros2"
	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Announced is a connection whose messages a Sink will get, and how many.
type Announced struct {
	Conn  *rosbag.Connection
	Count uint64 // zero if unknown
}

// route says how all messages of one topic and definition are converted.
type route struct {
	*ros2.TopicReport
	convert *mapping.To2 // nil: no message can be converted
	topic   rosbag2.Topic
	number  int         // of the topic in the plan
	merge   *transforms // nil: messages stay as they are
}

// group identifies the messages that share a route.
type group struct{ topic, kind, definition string }

// plan assigns routes to connections.
type plan struct {
	mapper *mapping.Mapper
	types  msgdef.Cache
	// by type and definition: many topics have the same
	converts map[convertKey]converted
	apart    bool
	routes   map[group]*route
	// in the order of the report
	ordered []*route
	// by name in ROS 2: its first route
	names map[string]*route
	// latching publishers by topic
	latching map[string]callers
	// of topics that are merged, by number: definitions of publishers may differ in comments
	merges map[int]*transforms
}

type convertKey struct{ name, definition string }

// converted is how the messages of a type are converted, or why they are not.
type converted struct {
	convert *mapping.To2
	err     error
}

// callers are names of publishers.
type callers map[string]bool

// newPlan makes the routes of what is announced. Its error is that of ctx.
func newPlan(ctx context.Context, m *mapping.Mapper, apart bool, all []Announced) (*plan, error) {
	p := &plan{
		mapper: m, converts: map[convertKey]converted{}, apart: apart, routes: map[group]*route{},
		names: map[string]*route{}, latching: map[string]callers{}, merges: map[int]*transforms{},
	}
	count := map[group]uint64{}
	first := map[group]*rosbag.Connection{}
	var order []group
	for _, a := range all {
		p.note(a.Conn)
		g := groupOf(a.Conn)
		if first[g] == nil {
			first[g] = a.Conn
			order = append(order, g)
		}
		count[g] += a.Count
	}
	// The type with the most messages keeps the name of the topic, whichever comes first.
	byCount := slices.Clone(order)
	slices.SortStableFunc(byCount, func(a, b group) int { return cmp.Compare(count[b], count[a]) })
	for _, g := range byCount {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p.routes[g] = p.newRoute(first[g])
	}
	for _, g := range order {
		p.ordered = append(p.ordered, p.routes[g])
	}
	return p, nil
}

// to2 returns how messages of a type are converted.
func (p *plan) to2(name, definition string) (*mapping.To2, error) {
	key := convertKey{name, definition}
	c, ok := p.converts[key]
	if !ok {
		c.convert, c.err = p.mapper.To2(name, definition)
		p.converts[key] = c
	}
	return c.convert, c.err
}

func groupOf(c *rosbag.Connection) group {
	return group{c.Topic, c.Header.Type(), c.Header.MessageDefinition()}
}

// note counts a latching publisher.
func (p *plan) note(c *rosbag.Connection) {
	if !c.Header.Latching() {
		return
	}
	if p.latching[c.Topic] == nil {
		p.latching[c.Topic] = callers{}
	}
	p.latching[c.Topic][c.Header.CallerID()] = true
}

// of returns the route of a connection, also of one that was not announced.
func (p *plan) of(c *rosbag.Connection) *route {
	g := groupOf(c)
	r := p.routes[g]
	if r == nil {
		p.note(c)
		r = p.newRoute(c)
		p.routes[g] = r
		p.ordered = append(p.ordered, r)
	}
	return r
}

// newRoute decides what becomes of a topic and definition.
func (p *plan) newRoute(c *rosbag.Connection) *route {
	latching := len(p.latching[c.Topic])
	r := &route{TopicReport: &ros2.TopicReport{Topic: c.Topic, Type: c.Header.Type(), Latched: latching > 0}}
	known, err := p.types.Of(c)
	if err == nil {
		r.convert, err = p.to2(c.Header.Type(), known.Definition)
	}
	if err != nil {
		r.Reason = err.Error()
		return r
	}
	if known.Replaced != "" {
		r.Warnings = append(r.Warnings, known.Replaced)
	}
	r.OutType, r.Notes = r.convert.Type, r.convert.Notes
	r.topic = rosbag2.Topic{
		Type: r.convert.Type, Serialization: "cdr", Hash: r.convert.Hash, Encoding: "ros2msg",
		Definition: r.convert.Schema,
		QoS:        rosbag2.FormatQoS([]rosbag2.Profile{profile(latching)}),
	}
	p.name(r)
	if latching > 1 && !p.apart && isTransforms(c.Header) {
		if p.merges[r.number] == nil {
			p.merges[r.number] = newTransforms()
		}
		r.merge, r.Merged = p.merges[r.number], latching
	} else if latching > playedDepth {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("%d nodes latch this topic; ros2 bag play repeats the last %d messages only",
				latching, playedDepth))
	}
	return r
}

// playedDepth is how many messages ros2 bag play keeps for late subscribers.
const playedDepth = 10

// profile returns the quality of service of a topic. One profile, the same for all publishers:
// players ignore profiles that differ.
func profile(latching int) rosbag2.Profile {
	p := rosbag2.Profile{
		History: rosbag2.KeepLast, Depth: playedDepth, Reliability: rosbag2.Reliable,
		Durability: rosbag2.Volatile, Liveliness: rosbag2.Automatic,
	}
	if latching > 0 {
		p.Durability, p.Depth = rosbag2.TransientLocal, uint64(latching)
	}
	return p
}

// name gives a route a legal name that no other type has.
func (p *plan) name(r *route) {
	name := legalName(r.Topic)
	if first := p.names[name]; first != nil && !first.same(r) {
		shared := first.Topic == r.Topic
		name += "_" + strings.ReplaceAll(r.Type, "/", "_")
		for base, n := name, 2; p.names[name] != nil && !p.names[name].same(r); n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		if shared {
			r.Warnings = append(r.Warnings,
				fmt.Sprintf("a topic of ROS 2 has one type: messages of %s go to %s", r.Type, name))
		}
	}
	r.topic.Name, r.OutTopic = name, name
	if first := p.names[name]; first != nil {
		r.number = first.number
		return
	}
	r.number = len(p.names)
	p.names[name] = r
}

// same reports whether the messages of two routes may have one topic of ROS 2.
func (r *route) same(other *route) bool {
	return r.Topic == other.Topic && r.topic.Type == other.topic.Type && r.topic.Hash == other.topic.Hash
}

// legalName returns a name of a topic that ROS 2 accepts: absolute, of letters, digits, underscores
// and single slashes, no part of which begins with a digit.
func legalName(topic string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(topic, "/") {
		if part == "" {
			continue
		}
		b.WriteByte('/')
		if part[0] >= '0' && part[0] <= '9' {
			b.WriteString("topic_")
		}
		for _, r := range part {
			if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
				r = '_'
			}
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return "/unnamed"
	}
	return b.String()
}
