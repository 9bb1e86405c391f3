package check

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/rosbag"
)

// maxDamage bounds the list of a Report.
const maxDamage = 10_000

// Report is what a check found.
type Report struct {
	Version     string    `json:"version"` // that of a bagfmt.Scanner, or of rosbag.Info by Source
	Size        int64     `json:"size"`
	Indexed     bool      `json:"indexed"`
	Encrypted   bool      `json:"encrypted,omitempty"`
	Growing     bool      `json:"recording,omitempty"` // it is being recorded
	Chunks      int       `json:"chunks,omitempty"`    // of an indexed bag
	Connections int       `json:"connections"`
	Messages    uint64    `json:"messages"` // that could be read
	Sound       bool      `json:"sound"`
	Damage      []Damage  `json:"damage"`
	More        int       `json:"more,omitempty"` // damage beyond the list
	Warnings    []Warning `json:"warnings"`
}

// isMCAP reports whether the report is that of Check about an MCAP file.
func (r *Report) isMCAP() bool { return r.Version == "mcap" }

// Offset is a place in a file. In JSON it is null if it is unknown.
type Offset int64

// UnknownOffset stands for a place that is unknown, such as that of a message whose reader does not tell it.
const UnknownOffset Offset = -1

// MarshalJSON implements json.Marshaler.
func (o Offset) MarshalJSON() ([]byte, error) {
	if o == UnknownOffset {
		return []byte("null"), nil
	}
	return json.Marshal(int64(o))
}

// asEnd says, for a text, that a message is before the offset; nothing if the offset is unknown.
func (o Offset) asEnd() string {
	if o == UnknownOffset {
		return ""
	}
	return fmt.Sprintf(" before offset %d", o)
}

// Damage is one damaged place, or a topic that cannot be read.
type Damage struct {
	Offset Offset `json:"offset"`
	What   string `json:"what"`
	Advice string `json:"advice"`
	Lost   bool   `json:"lost"` // messages are, or may be, lost
	// LeftOut: nothing is damaged, but a topic has messages that cannot be read.
	LeftOut bool `json:"left_out,omitempty"`
}

// Warning is an irregularity that does not make a bag unusable.
type Warning struct {
	Topic string `json:"topic,omitempty"`
	What  string `json:"what"`
}

// Advice for the kinds of damage.
const (
	adviceIndex   = "gobag reindex makes a new index"
	adviceLost    = "gobag reindex keeps the other messages"
	adviceEnd     = "gobag reindex keeps what is before"
	adviceBehind  = "not part of the bag; gobag reindex leaves it out"
	adviceType    = "the messages cannot be read by their definition; where they are from may have the right one, with which gobag fix repairs them"
	adviceChunk   = "a larger --max-chunk unpacks it; the bag may be sound"
	adviceSum     = "gobag fix IN OUT --to DEFS writes a bag in which both agree"
	adviceTime    = "programs take it for different times; the rest of the message is as it was"
	adviceForeign = "they are no messages of ROS 1; the other topics are read"
	adviceMessage = "the message does not fit its definition"
)

// nothingLost is put in front of adviceIndex if no other damage has lost messages; notWritten if the bag
// was not closed: nobody knows what its recorder still had in memory.
const (
	nothingLost = "no message is lost; "
	notWritten  = "no written message is lost, but those just before the crash may never have been written (gorecord: up to --flush-interval, 1 s); "
)

// notClosed is the damage of a bag whose recorder was killed.
const notClosed = "the bag was not closed and has no index"

type location struct {
	offset Offset
	op     rosbag.Op
}

// damage reports an error of bagfmt, once for each place.
func (c *checker) damage(err error) {
	d := Damage{Offset: UnknownOffset, What: text(err), Advice: adviceLost, Lost: true}
	at := location{offset: UnknownOffset}
	var bad *rosbag.CorruptError
	var limit *rosbag.LimitError
	var encoding *rosbag.EncodingError
	switch {
	case errors.Is(err, rosbag.ErrUnindexed) && c.report.isMCAP(): // the specification demands no index
		c.warn("", "%s: it is read from front to back; %s", text(err), adviceIndex)
		return
	case errors.Is(err, rosbag.ErrUnindexed):
		d.What, d.Advice, d.Lost = notClosed, adviceIndex, false
		c.open[d.What] = struct{}{}
		at = location{13, rosbag.OpBagHeader}
		if errors.As(err, &bad) {
			at.offset = Offset(bad.Offset)
		}
	case errors.As(err, &bad):
		at = location{Offset(bad.Offset), bad.Op}
		d.Advice, d.Lost = advice(bad)
		if d.Advice == adviceEnd {
			c.open[d.What] = struct{}{}
		}
	case errors.As(err, &limit):
		at = location{Offset(limit.Offset), limit.Op}
		if limit.Op == rosbag.OpChunk {
			d.Advice = adviceChunk
		}
	case errors.As(err, &encoding):
		d.Advice, d.LeftOut = adviceForeign, true
	}
	d.Offset = at.offset
	if _, known := c.seen[at]; known && at.offset != UnknownOffset {
		return
	}
	if len(c.seen) < maxDamage {
		c.seen[at] = struct{}{}
	}
	c.add(d)
}

func (c *checker) add(d Damage) {
	c.lost = c.lost || d.Lost
	if len(c.report.Damage) >= maxDamage {
		c.report.More++
		return
	}
	c.report.Damage = append(c.report.Damage, d)
}

// advice says what to do about damage of a record, and whether messages are lost.
func advice(bad *rosbag.CorruptError) (what string, lost bool) {
	index := bad.Op == rosbag.OpIndexData || bad.Op == rosbag.OpChunkInfo || bad.Op == rosbag.OpBagHeader
	switch {
	case bad.Op == rosbag.OpBagHeader && errors.Is(bad, io.ErrUnexpectedEOF):
		// what was before the index section is missing, too
		return adviceEnd, true
	case bad.Recovered || index:
		return adviceIndex, false
	case errors.Is(bad, io.ErrUnexpectedEOF):
		return adviceEnd, true
	}
	return adviceLost, true
}

// text returns the text of an error without the package name and the redundant cause.
func text(err error) string {
	return strings.TrimSuffix(err.Error(), ": "+io.ErrUnexpectedEOF.Error())
}

func (c *checker) warn(topic, format string, args ...any) {
	c.report.Warnings = append(c.report.Warnings, Warning{topic, fmt.Sprintf(format, args...)})
}

// finish completes the advice, now that all damage is known, and sorts the report.
func (c *checker) finish() {
	for i := range c.report.Damage {
		d := &c.report.Damage[i]
		if d.Advice == adviceIndex && !c.lost {
			if d.Advice = nothingLost + d.Advice; d.What == notClosed {
				d.Advice = notWritten + adviceIndex
			}
		}
		if c.report.Encrypted {
			// reindex takes no encrypted bag
			d.Advice = strings.Replace(d.Advice, "gobag reindex", "gobag decrypt", 1)
		}
	}
	slices.SortStableFunc(c.report.Damage, func(a, b Damage) int { return cmp.Compare(a.Offset, b.Offset) })
	slices.SortStableFunc(c.report.Warnings,
		func(a, b Warning) int { return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.What, b.What)) })
	c.report.Sound = len(c.report.Damage) == 0
}
