// Package control is the contract between a player and its front ends: which commands they have and
// what they can read. It has only types, no lock and no I/O; package player implements Control. Options, in
// comments, are player.Options.
package control

import (
	"errors"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Control controls and observes a running Run. Its methods may be called from any
// goroutine, do not block and have no effect once Run has returned.
//
// A position is a time in the bags, counted from the first selected message.
type Control interface {
	// Pause stops before the next message. It reports whether play was running.
	Pause() bool
	// Resume continues as if no time had passed. It reports whether play was paused.
	Resume() bool
	// Toggle pauses or resumes and reports whether play is paused now.
	Toggle() bool
	// Step publishes the next message at once and stays paused. It reports false,
	// and does nothing, while play is running.
	Step() bool
	// StepBack goes back to the message before the last one that was published, with the
	// latched state of that moment, publishes it and stays paused. It reports false, and does
	// nothing, while play is running and if there is no message before.
	StepBack() bool
	// Burst publishes the next n messages at once and stays paused. It reports false, and
	// does nothing, while play is running.
	Burst(n int) bool

	// Seek moves play to a position, where it continues or stays paused. A position outside
	// of the window is moved to the nearer end. The latched messages that are valid at the
	// position are published first.
	Seek(to time.Duration)
	// SetRate sets the bag time per wall time, from MinRate to MaxRate, without a jump.
	SetRate(rate float64) error
	// SetLoop switches looping on or off: when play reaches the end of the range, it continues
	// at its beginning.
	SetLoop(on bool)
	// SetLoopRange sets the range that SetLoop repeats. The default is everything that is played.
	SetLoopRange(from, to time.Duration) error
	// Bookmark adds the current position to Status.Bookmarks and returns it. There can be 1000
	// bookmarks; the next one is refused with ErrBookmarks.
	Bookmark() (time.Duration, error)
	// PauseOnTopics switches on or off that play pauses before each message of
	// Options.PauseTopics.
	PauseOnTopics(on bool)
	// SetTopic switches a topic, by its published name, off or on. Switching it on publishes
	// its latched messages. An unknown topic is an error.
	SetTopic(topic string, on bool) error
	// Stop ends play as if the last message had been published, also with Options.KeepAlive.
	Stop()

	// Status returns the state of play.
	Status() Status
	// Stats returns counts for each topic and subscriber. It costs more than Status.
	Stats() Stats
	// Density divides the played time into n parts and returns the number of messages in
	// each, estimated from chunk infos; nil while that is not known.
	Density(n int) []uint64
	// Changed returns a channel that is closed at the next change by Control, or of
	// the phase. Ask for it before Status, so that no change is missed.
	Changed() <-chan struct{}
}

// The limits of a rate. At the lowest a second in the bags takes twelve days, at the highest
// a year takes 32 ms.
const (
	MinRate = 1e-6
	MaxRate = 1e9
)

// ErrBookmarks says that there are as many bookmarks as there can be.
var ErrBookmarks = errors.New("there are 1000 bookmarks already, and no more can be set")

// Phase is what Run is doing.
type Phase int

// The phases, in order. Run skips phases that its options do not need.
const (
	PhaseRegister  Phase = iota // waiting until the master knows the topics
	PhaseDelay                  // Options.Delay runs
	PhaseWait                   // waiting for subscribers
	PhasePlay                   // playing, or paused
	PhaseKeepAlive              // everything is published, the node stays
	PhaseDrain                  // waiting until the subscribers have read what is queued
	PhaseDone
)

// Status is a snapshot of a running Run.
type Status struct {
	Phase    Phase
	Paused   bool
	Rate     float64       // requested
	Played   time.Duration // bag time so far, all passes; jumps excluded; at most 292 years
	Elapsed  time.Duration // wall time since the first message, pauses excluded
	Late     time.Duration // how long after its deadline the last message was published
	BagTime  rosbag.Time   // Position as a recorded time
	Position time.Duration // since the first selected message
	Length   time.Duration // from the first to the last selected message
	Pass     int           // complete passes, with Options.Loop
	Messages uint64        // published so far

	// by SetLoop
	Loop bool
	// by SetLoopRange
	LoopFrom, LoopTo time.Duration
	// in the order in which they were set; not to be modified
	Bookmarks []time.Duration
	// play pauses for topics, and there are such topics
	PauseOnTopics bool
	// the topic that play has paused for; empty if it has not
	PausedBy string
	// how far the subscriber of rate control is behind, while that blocks play
	Delayed time.Duration
	// how long play has been waiting for the disk; zero below one second
	Starving time.Duration
	// jumps so far; after each the position is discontinuous
	Seeks uint64
}

// Achieved returns the rate that play has achieved so far, as bag time per wall time; 0 before any wall
// time has passed.
func (s *Status) Achieved() float64 { return achieved(s.Played, s.Elapsed) }

// PositionOf returns the position of a recorded time, which may be outside of what is played.
// It is known as soon as BagTime is.
func (s *Status) PositionOf(t rosbag.Time) time.Duration { return s.Position + t.Sub(s.BagTime) }

// Stats is a detailed account of a running Run.
type Stats struct {
	Status
	// in the order of their first connection
	Topics []TopicStats
	// times that play had to wait for the disk or for decompression
	Starved uint64
	// read, but not published yet
	AheadBytes int
	// found so far
	Damage DamageCount
	// what blocks play at present: topics without a subscriber, full subscribers, or a clock that stands
	// still
	WaitingFor []string
}

// Dropped returns the number of messages that subscribers did not get because their queues were full.
func (s *Stats) Dropped() (n uint64) {
	for i := range s.Topics {
		n += s.Topics[i].Dropped
	}
	return n
}

// TopicStats is the account of one topic.
type TopicStats struct {
	Name        string // as published
	Type        string
	Latching    bool
	Off         bool // by SetTopic
	Pauses      bool // one of Options.PauseTopics
	Messages    uint64
	Bytes       uint64
	Dropped     uint64 // over all present and past subscribers
	Subscribers []tcpros.SubscriberStats
}
