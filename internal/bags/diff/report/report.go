// Package report holds what a comparison of two bags has found, and writes that for people and
// as JSON. It is pure. The caller is package diff; gobag diff prints what it returns.
package report

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
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
	Name    string `json:"topic"`
	Differs bool   `json:"differs"`
	// A or B, if the other one has no such topic
	OnlyIn    string   `json:"only_in,omitempty"`
	MessagesA uint64   `json:"messages_a"`
	MessagesB uint64   `json:"messages_b"`
	Headers   []Header `json:"headers,omitempty"`
	Counts
	MaxTime Seconds `json:"max_time_off,omitempty"`
	// how it was compared, if not publisher by publisher and in order
	Notes []string `json:"notes,omitempty"`
}

// Counts say what has come out for the messages of a topic.
type Counts struct {
	Equal      uint64 `json:"equal"` // pairs of messages
	Changed    uint64 `json:"changed,omitempty"`
	OnlyA      uint64 `json:"only_in_a,omitempty"` // messages
	OnlyB      uint64 `json:"only_in_b,omitempty"`
	Moved      uint64 `json:"moved,omitempty"`      // messages that come elsewhere in the order
	OtherTimes uint64 `json:"other_time,omitempty"` // messages; if times count
}

// Add adds the counts of other messages.
func (c *Counts) Add(o Counts) {
	c.Equal, c.Changed, c.Moved = c.Equal+o.Equal, c.Changed+o.Changed, c.Moved+o.Moved
	c.OnlyA, c.OnlyB, c.OtherTimes = c.OnlyA+o.OnlyA, c.OnlyB+o.OnlyB, c.OtherTimes+o.OtherTimes
}

// Differences returns the number of differences.
func (c Counts) Differences() uint64 { return c.Changed + c.Moved + c.OnlyA + c.OnlyB + c.OtherTimes }

// Header is a difference between connection headers.
type Header struct {
	Publisher string `json:"publisher,omitempty"` // if publishers are compared one by one
	// OnlyIn is A or B if one bag has a connection more: with that value of the field in place of
	// another one that both have.
	OnlyIn string `json:"only_in,omitempty"`
	Field  string `json:"field"`
	A      string `json:"a"`
	B      string `json:"b"`
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
	return json.Marshal(wording.DecimalDuration(time.Duration(s)))
}

// Place is a message.
type Place struct {
	Topic     string `json:"topic,omitempty"`
	Publisher string `json:"publisher,omitempty"` // if the topic has several, which are compared one by one
	Number    uint64 `json:"number"`              // from 1, of its publisher's or topic's
	Time      Stamp  `json:"time"`
}

// Stamp is a time that is decimal seconds in JSON.
type Stamp rosbag.Time

// MarshalJSON implements json.Marshaler.
func (s Stamp) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// String returns decimal seconds.
func (s Stamp) String() string { return wording.DecimalTime(rosbag.Time(s)) }

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
	Publisher string `json:"publisher,omitempty"` // if the topic has several, which are compared one by one
	Kind      Kind   `json:"kind"`
	A         *Place `json:"a,omitempty"`
	B         *Place `json:"b,omitempty"`
	// Repeats says that the message, which one bag has alone, is the same as the one before it there.
	Repeats bool     `json:"repeats,omitempty"`
	Fields  []Change `json:"fields,omitempty"`
	More    int      `json:"more,omitempty"` // fields that are not listed
	Note    string   `json:"note,omitempty"` // why there are no fields
}

// At returns the place of the message in A or, if only B has the message, in B.
func (d Difference) At() *Place { return cmp.Or(d.A, d.B) }

// Change is a field that differs.
type Change struct {
	Path string `json:"path"`
	A    string `json:"a"`
	B    string `json:"b"`
	Note string `json:"note,omitempty"`
}
