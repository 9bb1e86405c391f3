package player

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Control steers and watches a running Run. Its methods may be called from any
// goroutine, do not block and do nothing once Run has returned.
//
// A position is a time in the bags, counted from the first selected message.
type Control interface {
	// Pause stops before the next message. It reports whether play was running.
	Pause() bool
	// Resume goes on as if no time had passed. It reports whether play was paused.
	Resume() bool
	// Toggle pauses or resumes and reports whether play is paused now.
	Toggle() bool
	// Step publishes the next message at once and stays paused. It reports false,
	// and does nothing, while play is running.
	Step() bool
	// StepBack goes back to the message before the last one that was published, with the
	// latched state of that moment, publishes it and stays paused. It reports false, and does
	// nothing, while play is running.
	StepBack() bool
	// Burst publishes the next n messages at once and stays paused. It reports false, and
	// does nothing, while play is running.
	Burst(n int) bool

	// Seek goes on from a position, or stays paused there. Positions outside of the window
	// mean its ends. The latched messages that were valid there are published first.
	Seek(to time.Duration)
	// SetRate sets the bag time per wall time, without a jump.
	SetRate(rate float64) error
	// SetLoop makes play go on at the first mark when it reaches the second, for ever,
	// or to the end.
	SetLoop(on bool)
	// SetMarks sets what SetLoop repeats. Before, it is all that is played.
	SetMarks(from, to time.Duration) error
	// Bookmark remembers where play is and returns it.
	Bookmark() time.Duration
	// PauseOnTopics makes play pause before each message of Options.PauseTopics, or not.
	PauseOnTopics(on bool)
	// SetTopic makes a topic, by its published name, silent, or audible again, which
	// publishes its latched state. An unknown topic is an error.
	SetTopic(topic string, on bool) error
	// Stop ends play as if this had been the last message, also with Options.KeepAlive.
	Stop()

	// Status returns where play is.
	Status() Status
	// Stats returns what went out, by topic and subscriber. It costs more than Status.
	Stats() Stats
	// Density returns how many messages lie in each nth part of what is played, as the
	// indexes of the bags tell without reading them; nil while that is not known.
	Density(n int) []uint64
	// Changed returns a channel that is closed at the next change by Control, or of
	// the phase. Ask for it before Status, so that no change is missed.
	Changed() <-chan struct{}
}

// Phase is what Run is doing.
type Phase int

// The phases, in order. Run skips those that its options do not ask for.
const (
	PhaseRegister  Phase = iota // waiting until the master knows the topics
	PhaseDelay                  // Options.Delay runs
	PhaseWait                   // waiting for subscribers
	PhasePlay                   // playing, or paused
	PhaseKeepAlive              // all is published, the node stays
	PhaseDrain                  // waiting until the subscribers have read what is queued
	PhaseDone
)

// Status is a snapshot of a running Run.
type Status struct {
	Phase    Phase
	Paused   bool
	Rate     float64       // asked for
	Achieved float64       // bag time per wall time so far, pauses excluded; 0 if not known yet
	Late     time.Duration // how long after its deadline the last message went out
	BagTime  bagfmt.Time   // the same as Position, as recorded
	Position time.Duration // since the first selected message
	Length   time.Duration // from the first to the last selected message
	Pass     int           // complete passes, with Options.Loop
	Messages uint64        // published so far

	Loop             bool            // SetLoop
	MarkFrom, MarkTo time.Duration   // SetMarks
	Bookmarks        []time.Duration // in the order in which they were set; not to be modified
	PauseOnTopics    bool            // there are such topics, and play pauses for them
	PausedBy         string          // the topic that play has paused for, if it has
	Delayed          time.Duration   // how far rate control says that a subscriber is behind, if it holds play up
	Starving         time.Duration   // how long play has been waiting for the disk, from a second on
	Seeks            uint64          // jumps so far: at each the position is a new beginning
}

// Stats is a detailed account of a running Run.
type Stats struct {
	Status
	Topics     []TopicStats // in the order of their first connection
	Starved    uint64       // times that play had to wait for the disk or for decompression
	AheadBytes int          // read, but not published yet
	WaitingFor []string     // what holds play up at present: topics without a subscriber, or subscribers that are full
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
	Dropped     uint64 // over all subscribers that are or were there
	Subscribers []tcpros.SubscriberStats
}
