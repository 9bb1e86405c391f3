// Package simtime has the clock of a recording: that of /clock in a graph with
// /use_sim_time, and otherwise the wall clock. It also notices when the wall clock is set. Any room of
// the recorder may use a Sim; a nil *Sim stands for the wall clock.
//
// Decisions: ADR 0035, 0082.
package simtime

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Topic is the topic of the clock.
const Topic = "/clock"

// Sim is the clock of a graph with /use_sim_time. Its time is that of the latest message on /clock.
//
// Stamps follow the clock, also backward, as in stock. Durations, splits and rates count only the time that
// passes on the clock, so that they go on after a simulator is reset. A time of zero, at which stock ends, is
// ignored. The age of a chunk, dates in names of files and the like follow the wall clock.
type Sim struct {
	now      atomic.Int64  // the time in nanoseconds since 1970; zero before the first message
	back     atomic.Int64  // the sum of all steps back, in nanoseconds
	begun    chan struct{} // closed when the clock has its first time
	released chan struct{} // closed by Release
	release  sync.Once
	sub      *tcpros.Subscription

	tick atomic.Pointer[func(now, before time.Time)] // the function of Tell; nil for none

	mu    sync.Mutex     // guards the following fields
	due   int64          // the steady time, in nanoseconds, after which over gets the time; zero for never
	over  chan time.Time // what Until returns
	links []*clockLink
	open  Open // makes the sinks that record /clock; nil while /clock is not recorded
}

// clockLink receives the clock from one publisher. It implements tcpros.LinkSink.
type clockLink struct {
	clock *Sim
	info  tcpros.LinkInfo
	rec   atomic.Pointer[tcpros.LinkSink] // records /clock of the publisher; nil while /clock is not recorded
}

// Open makes the sink that records /clock of one publisher.
type Open func(tcpros.LinkInfo) (tcpros.LinkSink, error)

// New returns a clock that has no time yet.
func New() *Sim {
	return &Sim{begun: make(chan struct{}), released: make(chan struct{}), over: make(chan time.Time, 1)}
}

// subscribe returns a clock that follows Topic.
func subscribe(n *tcpros.Node) (*Sim, error) {
	c := New()
	sub, err := n.Subscribe(tcpros.SubscribeOptions{
		Topic: Topic, Type: "rosgraph_msgs/Clock", MD5Sum: "a9c97c1d230cfc112e270351a944ee47",
		TCPNoDelay: true,
		Open:       c.Link,
	})
	c.sub = sub
	return c, err
}

// Topic returns the name in the graph of Topic; empty for the wall clock, and for a clock without a node.
func (c *Sim) Topic() topicname.InGraph {
	if c == nil || c.sub == nil {
		return ""
	}
	return topicname.InGraph(c.sub.Topic())
}

// At returns the stamp of a message that was received at a time of the wall clock.
func (c *Sim) At(received time.Time) time.Time {
	if c == nil {
		return received
	}
	return time.Unix(0, c.now.Load())
}

// Steady is At without the steps back of the clock: it never goes back. Only the difference between two
// steady times has a meaning.
func (c *Sim) Steady(received time.Time) time.Time {
	// read before At: follow changes back last, so a step back never looks like one forward
	back := c.GoneBack()
	return c.At(received).Add(back)
}

// GoneBack returns how far Steady is ahead of At.
func (c *Sim) GoneBack() time.Duration {
	if c == nil {
		return 0
	}
	return time.Duration(c.back.Load())
}

// Step returns the distance between the stamps of messages that were received together.
func (c *Sim) Step() time.Duration {
	if c == nil {
		return 1
	}
	return 0
}

// Release lets links pass on messages. Until then they wait with the first time of the clock, so that
// /clock, if it is recorded, is recorded from that message on. Messages before it, all of them zero, are
// not recorded, as in stock.
func (c *Sim) Release() {
	if c != nil {
		c.release.Do(func() { close(c.released) })
	}
}

// Close ends the subscription.
func (c *Sim) Close() {
	if c != nil {
		c.Release()
		c.sub.Close()
	}
}

// Until returns a channel that gets the time once the clock has passed the steady time t. A call replaces
// the calls before.
func (c *Sim) Until(t time.Time) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = t.UnixNano()
	return c.over
}

// Tell makes the clock call f with each time, and with the time before.
func (c *Sim) Tell(f func(now, before time.Time)) { c.tick.Store(&f) }

// Set takes a time from a message on /clock, in nanoseconds since 1970.
func (c *Sim) Set(now int64) {
	if now == 0 {
		return
	}
	before := c.follow(now)
	if tick := c.tick.Load(); tick != nil {
		(*tick)(time.Unix(0, now), time.Unix(0, before))
	}
}

// follow makes now the time of the clock, and returns the time before.
func (c *Sim) follow(now int64) (before int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.now.Swap(now)
	if before == 0 {
		close(c.begun)
	}
	passed := now + c.back.Add(max(before-now, 0))
	if c.due != 0 && passed > c.due { // not at due itself: stock, too, records what comes at that very time
		c.due = 0
		select {
		case c.over <- time.Unix(0, now):
		default: // nobody has taken the time of an earlier call of Until
		}
	}
	return before
}

// Link returns the sink that receives /clock from one publisher.
func (c *Sim) Link(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
	l := &clockLink{clock: c, info: info}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := l.record(c.open); err != nil {
		return nil, err
	}
	c.links = append(c.links, l)
	return l, nil
}

// record makes the link record what it receives. open is nil while /clock is not recorded.
func (l *clockLink) record(open Open) error {
	if open == nil {
		return nil
	}
	rec, err := open(l.info)
	if err == nil {
		l.rec.Store(&rec)
	}
	return err
}

// Record makes links record /clock from now on. A node has only one subscription to a topic, so the one
// of the clock serves the recording, too.
func (c *Sim) Record(open Open) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = open
	for _, l := range c.links {
		if err := l.record(c.open); err != nil {
			return err
		}
	}
	return nil
}

// Forget ends Record. The clock goes on.
func (c *Sim) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = nil
	for _, l := range c.links {
		if rec := l.rec.Swap(nil); rec != nil {
			(*rec).Closed(nil)
		}
	}
}

// Frames implements tcpros.LinkSink. A message on /clock is stamped with its own time.
func (l *clockLink) Frames(run []byte, _ int, received time.Time) {
	for frame := range rosbag.Frames(run) {
		if len(frame) >= 12 {
			sec, nsec := binary.LittleEndian.Uint32(frame[4:]), binary.LittleEndian.Uint32(frame[8:])
			l.clock.Set(int64(sec)*int64(time.Second) + int64(nsec))
		}
		if l.clock.now.Load() == 0 {
			// a simulator that begins at zero: its first time comes on this link, which must not wait
			continue
		}
		<-l.clock.released
		if rec := l.rec.Load(); rec != nil {
			(*rec).Frames(frame, 1, received)
		}
	}
}

// Large implements tcpros.LinkSink. No message on /clock is large.
func (l *clockLink) Large(int) tcpros.LargeFrame { return nil }

// Closed implements tcpros.LinkSink.
func (l *clockLink) Closed(err error) {
	l.clock.mu.Lock()
	defer l.clock.mu.Unlock()
	l.clock.links = slices.DeleteFunc(l.clock.links, func(x *clockLink) bool { return x == l })
	if rec := l.rec.Swap(nil); rec != nil {
		(*rec).Closed(err)
	}
}
