package bagdiff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// Report says how two bags differ.
type Report struct {
	Same     bool `json:"same"`     // in all that was compared
	Complete bool `json:"complete"` // both bags could be read wholly
	A        Bag  `json:"a"`
	B        Bag  `json:"b"`

	Compared uint64  `json:"compared"` // pairs of messages
	Topics   []Topic `json:"topics"`   // by name
	Times    Times   `json:"times"`

	// Differences are the first ones of each topic. More counts those that are not listed.
	Differences []Difference `json:"differences"`
	More        uint64       `json:"more,omitempty"`
}

// Bag is one of the bags.
type Bag struct {
	Path     string   `json:"path"` // for the caller to fill in, as the next
	Damage   []string `json:"damage,omitempty"`
	Version  string   `json:"version"`
	Topics   int      `json:"topics"`
	Messages uint64   `json:"messages"` // as the index says, or a scan has found
}

// Topic is what has come out for a topic.
type Topic struct {
	Name       string   `json:"topic"`
	Differs    bool     `json:"differs"`
	OnlyIn     string   `json:"only_in,omitempty"` // A or B, if the other one has no such topic
	MessagesA  uint64   `json:"messages_a"`
	MessagesB  uint64   `json:"messages_b"`
	Headers    []Header `json:"headers,omitempty"`
	Equal      uint64   `json:"equal"` // pairs of messages
	Changed    uint64   `json:"changed,omitempty"`
	OnlyA      uint64   `json:"only_in_a,omitempty"` // messages
	OnlyB      uint64   `json:"only_in_b,omitempty"`
	Moved      uint64   `json:"moved,omitempty"`      // messages that come elsewhere in the order
	OtherTimes uint64   `json:"other_time,omitempty"` // messages; if times count
	MaxTime    Seconds  `json:"max_time_off,omitempty"`
	Notes      []string `json:"notes,omitempty"` // how it was compared, if not publisher by publisher and in order
}

// Times says how far the times of the messages that are paired differ.
type Times struct {
	Count     bool    `json:"count"`     // they make bags different
	Identical uint64  `json:"identical"` // messages with the same time in both bags
	Shift     Seconds `json:"shift"`     // the median of B minus A, which the others are around
	P50       Seconds `json:"p50"`
	P99       Seconds `json:"p99"`
	Max       Seconds `json:"max"`
	Sampled   bool    `json:"sampled,omitempty"` // all but Max and Identical are those of a sample
	Furthest  *Place  `json:"furthest,omitempty"`
}

// Seconds is a duration that is decimal seconds in JSON.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	sign := ""
	if s < 0 {
		sign, s = "-", -s
	}
	return json.Marshal(fmt.Sprintf("%s%d.%09d", sign, s/1e9, s%1e9))
}

// Place is a message.
type Place struct {
	Topic     string `json:"topic,omitempty"`
	Publisher string `json:"publisher,omitempty"` // if the topic has several, which are told apart
	Number    uint64 `json:"number"`              // from 1, of its publisher's or topic's
	Time      Stamp  `json:"time"`
}

// Stamp is a time that is decimal seconds in JSON.
type Stamp bagfmt.Time

// MarshalJSON implements json.Marshaler.
func (s Stamp) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// String returns decimal seconds. Add carries a second and more of nanoseconds.
func (s Stamp) String() string { return bagfmt.Time(s).Add(0).String() }

// Kind is a kind of difference between messages.
type Kind string

// The kinds of differences.
const (
	KindChanged Kind = "changed"
	KindMoved   Kind = "moved"
	KindOnlyA   Kind = "only in A"
	KindOnlyB   Kind = "only in B"
	KindTime    Kind = "time"
)

// Difference is one of a message.
type Difference struct {
	Topic     string `json:"topic"`
	Publisher string `json:"publisher,omitempty"` // if the topic has several, which are told apart
	Kind      Kind   `json:"kind"`
	A         *Place `json:"a,omitempty"`
	B         *Place `json:"b,omitempty"`
	// Repeats says that the message, which one bag has alone, is the same as the one before it there.
	Repeats bool     `json:"repeats,omitempty"`
	Fields  []Change `json:"fields,omitempty"`
	More    int      `json:"more,omitempty"` // fields that are not listed
	Note    string   `json:"note,omitempty"` // why there are no fields
}

// Change is a field that differs.
type Change struct {
	Path string `json:"path"`
	A    string `json:"a"`
	B    string `json:"b"`
	Note string `json:"note,omitempty"`
}

// report puts together what the streams have found.
func (c *comparison) report(all []*stream) (*Report, error) {
	r := &Report{Same: true, Complete: c.complete, Topics: []Topic{}, Differences: []Difference{}}
	for s, b := range []*Bag{&r.A, &r.B} {
		b.Version = c.bags[s].Version()
		for _, t := range c.topics {
			if len(t.conns[s]) > 0 {
				b.Topics++
				b.Messages += t.messages[s]
			}
		}
	}
	r.Times = c.measure(all)
	for _, t := range c.topics {
		sum := c.summarize(t, &r.Times)
		r.Same = r.Same && !sum.Differs
		r.Compared += sum.Equal + sum.Changed
		r.Topics = append(r.Topics, sum)
	}
	return r, c.detail(r, all)
}

// measure says how the times differ, and whether that counts.
func (c *comparison) measure(all []*stream) Times {
	var spreads []*spread
	var t Times
	var count uint64
	for _, st := range all {
		x := &st.tally.times
		spreads = append(spreads, x)
		count += x.count
		t.Identical += x.identical
		t.Sampled = t.Sampled || x.random != nil
	}
	list := weigh(spreads)
	shift := percentiles(list, 0.5)[0]
	for i := range list {
		list[i].by = (list[i].by - shift).Abs()
	}
	p := percentiles(list, 0.5, 0.99)
	t.Shift, t.P50, t.P99 = Seconds(shift), Seconds(p[0]), Seconds(p[1])
	for _, st := range all {
		if off, at := st.tally.times.furthest(shift); Seconds(off) > t.Max {
			t.Max, t.Furthest = Seconds(off), &Place{st.topic.name, st.publisher, at.number + 1, Stamp(at.time)}
		}
	}
	t.Count = c.o.Times != nil || c.o.Spacing != nil || 2*t.Identical > count
	return t
}

// summarize says what has come out for a topic.
func (c *comparison) summarize(t *topic, times *Times) Topic {
	sum := Topic{Name: t.name, MessagesA: t.messages[A], MessagesB: t.messages[B]}
	for s := range t.conns {
		if len(t.conns[s]) == 0 {
			sum.OnlyIn, sum.Differs = Side(s).other().String(), true
			return sum
		}
	}
	sum.Headers = t.compareHeaders()
	if t.joined {
		sum.Notes = append(sum.Notes, fmt.Sprintf("compared as one stream, because its publishers are %s in A and %s in B", t.callers(A), t.callers(B)))
	}
	for _, st := range t.streams {
		x := st.tally
		sum.Equal += x.equal
		sum.Changed += x.changed
		sum.Moved += x.moved
		sum.OnlyA += x.unpaired[A]
		sum.OnlyB += x.unpaired[B]
		of := ""
		if st.publisher != "" {
			of = " of " + st.publisher
		}
		if c.o.ByHeader && !st.byHeader {
			sum.Notes = append(sum.Notes, "messages"+of+" begin with no header: paired in their order")
		}
		if x.byNumber > 0 {
			sum.Notes = append(sum.Notes, fmt.Sprintf("messages%s from %d on are paired by their number: too few of them agree", of, x.byNumber))
		}
		off, counts := c.timeOff(st, times)
		if counts {
			sum.MaxTime = max(sum.MaxTime, Seconds(off))
			if c.o.Spacing == nil {
				sum.OtherTimes += x.over
			}
		}
	}
	sum.Differs = len(sum.Headers) > 0 || sum.Changed+sum.Moved+sum.OnlyA+sum.OnlyB > 0 || sum.MaxTime > 0
	return sum
}

// timeOff says how far the times of a stream are off, and whether that is a difference.
func (c *comparison) timeOff(st *stream, times *Times) (off time.Duration, counts bool) {
	if c.o.Spacing != nil {
		off, _ = st.tally.times.furthest(time.Duration(times.Shift))
		return off, off > *c.o.Spacing
	}
	off, _ = st.tally.times.furthest(0)
	return off, times.Count && st.tally.over > 0
}

// callers names the publishers of a topic.
func (t *topic) callers(s Side) string {
	var all []string
	for _, conn := range t.conns[s] {
		name := conn.Header.CallerID()
		if name == "" {
			name = "(unknown)"
		}
		all = append(all, name)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	const most = 5
	if more := len(all) - most; more > 0 {
		all = append(all[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}
