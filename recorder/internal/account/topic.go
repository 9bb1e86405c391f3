package account

import (
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// Tally is a number of messages, and the bytes of their payload.
type Tally struct{ Messages, Bytes uint64 }

// Add adds n to the tally.
func (t *Tally) Add(n Tally) {
	t.Messages += n.Messages
	t.Bytes += n.Bytes
}

// sub takes n from the tally.
func (t *Tally) sub(n Tally) {
	t.Messages -= n.Messages
	t.Bytes -= n.Bytes
}

// Topic is the account of one topic.
type Topic struct {
	name     topicname.InBag
	resolved topicname.InGraph
	// messages that were put into chunks, without those dropped with their chunk
	recorded Tally
	// messages of Tally that are in a file
	written Tally
	// latched messages at the start of a later file or after a pause
	repeated uint64
	// messages that came while the recording was paused or stopped
	passed uint64
	// which messages are recorded
	sampler    Sampler
	memory     memory.Account
	publishers Publishers
	conns      []*Connection
	// bytes of headers and publishers that Connections counts for the topic
	headers int64
	// open links
	linked int
	// when the last message came
	last    time.Time
	came    Came
	dropped [control.DropCauses]uint64
	// drops that were reported; nil before the first drop
	reportedDrops *[control.DropCauses]loss.Reported
	beginning     beginning
	// bytes of the buffer into which the largest refused message would fit; zero if none was too large
	bufferNeeded int64
	heldUp       heldUp
}

// Came is what came of a topic, whatever became of it.
type Came struct {
	// large ones count when they are announced
	messages uint64
	// of frames
	bytes uint64
	// of header.stamp: seconds, and from bit 32 on nanoseconds; of the last message of which it is known;
	// 0 for none
	rawStamp uint64
	// when that message came
	stamped time.Time
	// links
	opened int
	// there was a publisher that latches
	latching bool
}

// beginning is what is known of a topic from before and at its first link.
type beginning struct {
	linked   bool            // there has been a link
	typ      string          // of the first publisher
	since    time.Time       // a time before the topic was registered; zero if the topic was there before
	pickup   time.Duration   // from since to the first link
	waitsFor control.Waiting // noted at the end of a recording
}

// NotePickup notes that a link to a publisher opens. The first such link ends the time that the topic
// waited for a publisher since its registration.
func (t *Topic) NotePickup() {
	if b := &t.beginning; !b.linked && !b.since.IsZero() {
		b.pickup = time.Since(b.since)
	}
}

// Name returns the name of the topic in the bag.
func (t *Topic) Name() topicname.InBag { return t.name }

// Tally returns the messages that were put into chunks, without those dropped with their chunk.
func (t *Topic) Tally() Tally { return t.recorded }

// Lost returns how many messages were dropped, for all causes.
func (t *Topic) Lost() (n uint64) {
	for _, dropped := range t.dropped {
		n += dropped
	}
	return n
}

// Memory returns the account of the buffer.
func (t *Topic) Memory() *memory.Account { return &t.memory }

// Publishers returns the publishers that have accounts of their own.
func (t *Topic) Publishers() []*loss.Publisher { return t.publishers.all }

// IsLinked reports whether a link is open.
func (t *Topic) IsLinked() bool { return t.linked > 0 }

// KeepsAll reports whether the limits leave out no message before the last one.
func (t *Topic) KeepsAll() bool { return t.sampler.KeepsAll() }

// Keep decides whether one message is recorded, as Sampler.Keep does.
func (t *Topic) Keep(received time.Time) bool { return t.sampler.Keep(received) }

// Recorded counts messages that were put into a chunk, and the bytes of their payload.
func (t *Topic) Recorded(messages, bytes uint64) { t.recorded.Add(Tally{messages, bytes}) }

// PublisherRefused counts a publisher that the node could not connect to, as Publishers.Refuse does.
func (t *Topic) PublisherRefused(uri string, err error) { t.publishers.Refuse(uri, err) }

// noteLinked counts a link to a publisher of a type. The type of the first publisher is that of the topic.
func (t *Topic) noteLinked(typ string, latching bool) {
	t.linked++
	t.came.opened++
	t.came.latching = t.came.latching || latching
	if b := &t.beginning; !b.linked {
		b.linked, b.typ = true, strings.Clone(typ)
	}
}

// NoteWaiting notes what the topic waits for at the end of a recording, if it never had a link.
func (t *Topic) NoteWaiting(w control.Waiting) {
	if !t.beginning.linked {
		t.beginning.waitsFor = w
	}
}

// Wanted returns how many of the given messages are recorded before the topic reaches its limit.
func (t *Topic) Wanted(messages uint64) uint64 {
	if limit := t.sampler.limit; limit > 0 {
		return min(messages, limit-min(t.recorded.Messages, limit))
	}
	return messages
}

// AtLimit reports whether the topic has a limit of messages and has reached it.
func (t *Topic) AtLimit() bool { return t.sampler.limit > 0 && t.recorded.Messages >= t.sampler.limit }
