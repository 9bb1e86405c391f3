package output

import (
	"math"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// stamper sets the stamps of messages to the time at which they are published. The
// lock of play guards it.
//
// It maps the time line of the bags to the time line of the graph as the schedule does, not message by
// message: stamps do not show how late a message is, and a stamp that two messages share stays the
// same in both.
type stamper struct {
	clock   func() time.Duration // see follow.TimeBase
	head    *transport.Head
	maxLate time.Duration // the longest lateness of a message that its stamps hide
	log     *zap.Logger

	// how far the time line is behind the schedule
	delay time.Duration
	skews clockSkews
	// the time in the graph of the last published message, or of the last jump if that came later
	reached rosbag.Time
	// of the stamps in the message that is being stamped
	offsets []int
}

// onSchedule returns the moment for a message that has a deadline. late is how late the message is. A late
// message is stamped as if it were published in time, unless play stays behind by more than maxLate.
// See ADR 0056.
func (s *stamper) onSchedule(late time.Duration) Moment {
	s.delay = min(max(s.delay, late-s.maxLate), late)
	pos, due := s.head.Anchor()
	return Moment{pos, due + s.delay}
}

// at returns the time of the graph at a time of the sleeper.
func (s *stamper) at(now time.Duration) rosbag.Time { return sinceEpoch(s.clock() + now) }

// sinceEpoch returns the stamp of a time since 1970. A stamp of zero means none, so the least is 1 ns.
func sinceEpoch(d time.Duration) rosbag.Time { return rosbag.Time{}.Add(max(d, 1)) }

// outOfTurn returns the moment for a message that is published now as if it were due now.
func (s *stamper) outOfTurn(recorded rosbag.Time, now time.Duration) Moment {
	return Moment{s.position(recorded), now}
}

// position returns the position of a time in the bags.
func (s *stamper) position(t rosbag.Time) time.Duration {
	zero, _ := s.head.Span()
	return t.Sub(zero)
}

// stamp returns the frame of a message with its stamps set. The frame of the bag does not change. A
// frame without stamps, and a frame that does not fit its definition, is returned as it is.
func (s *stamper) stamp(t *Topic, m *Message) []byte {
	s.reached = s.at(m.At.Due + s.head.PlayTime(m.At.Pos, s.position(m.Recorded)))
	if t.Stamps == nil {
		return m.Frame
	}
	var err error
	if s.offsets, err = t.Stamps.AppendOffsets(s.offsets[:0], m.Frame[stdmsg.FramePrefix:]); err != nil {
		if t.unstamped++; t.unstamped == 1 {
			s.log.Warn("a message does not fit its definition: it is published with the stamps that were recorded", loglimit.Each(),
				zap.String("topic", string(t.Name)), zap.Stringer("recorded", m.Recorded), zap.Error(err))
		}
		return m.Frame
	}
	payload := m.Frame[stdmsg.FramePrefix:]
	s.offsets = slices.DeleteFunc(s.offsets, func(i int) bool { return stdmsg.StampAt(payload, i).IsZero() })
	if len(s.offsets) == 0 {
		return m.Frame
	}
	frame := m.Frame
	if !m.Private {
		frame = slices.Clone(frame)
	}
	s.set(frame[stdmsg.FramePrefix:], m)
	return frame
}

// set sets the stamps at s.offsets. All stamps of a message are taken to be of one clock, so that
// the distances between them stay.
func (s *stamper) set(payload []byte, m *Message) {
	behind := time.Duration(math.MaxInt64) // time of receipt less the stamp that is nearest to it
	for _, i := range s.offsets {
		if d := m.Recorded.Sub(stdmsg.StampAt(payload, i)); d.Abs() < behind.Abs() {
			behind = d
		}
	}
	zero, skew := s.clock(), s.skews.of(behind)
	for _, i := range s.offsets {
		pos := s.position(stdmsg.StampAt(payload, i)) + skew
		stdmsg.SetStamp(payload, i, sinceEpoch(zero+m.At.Due+s.head.PlayTime(m.At.Pos, pos)))
	}
}

// clockSkews are the differences between the clock that received messages and other clocks
// that stamped them: of a robot whose clock is wrong, or of a simulation. They are learnt from
// the messages.
type clockSkews struct {
	known [8]time.Duration // how far each other clock is behind; zero if the place is unused
	next  int              // the place for the next skew
}

const (
	// maxLatency is the longest distance between the time of receipt and a stamp of the same clock.
	// tf remembers transforms for that long: nothing uses data that are older.
	maxLatency = 10 * time.Second
	// maxSkewChange is the most by which two messages that another clock stamped may differ in skew.
	maxSkewChange = time.Second
)

// of returns the skew of the clock of a message whose stamp is behind its time of receipt: 0
// if it is the same clock. The message that took the least time to arrive shows the skew best.
func (c *clockSkews) of(behind time.Duration) time.Duration {
	if behind.Abs() <= maxLatency {
		return 0
	}
	for i, skew := range c.known {
		if skew != 0 && (behind-skew).Abs() <= maxSkewChange {
			c.known[i] = min(skew, behind)
			return c.known[i]
		}
	}
	c.known[c.next] = behind
	c.next = (c.next + 1) % len(c.known)
	return behind
}
