// Package simtime knows the time that a recording goes by: that of /clock in a graph with
// /use_sim_time, or that of the wall, and whether the wall clock was set. Everybody in the
// recorder may ask Sim; nil stands for the wall clock.
package simtime

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
)

// Topic is the topic of the clock.
const Topic = "/clock"

// Sim is the time of a graph with /use_sim_time: that of the last /clock. Stamps
// follow it, also backwards, as in stock; durations, splits and rates count the time that
// passes on it, so that a simulator which is reset does not suspend them. A time of zero,
// at which stock ends, is passed over. All that concerns this machine, such as when a
// chunk is handed to the disk and the names of files, does not follow it. nil is the wall clock.
type Sim struct {
	now   atomic.Int64  // nanoseconds since 1970; zero before the first
	back  atomic.Int64  // nanoseconds by which it has gone back, all steps together
	begun chan struct{} // closed with the first
	held  chan struct{} // closed when the links need not wait for the file any more
	let   sync.Once
	sub   *tcpros.Subscription

	tick atomic.Pointer[func(now, before time.Time)] // told of each time; nil for nobody

	mu    sync.Mutex
	due   int64          // when to say that it is over, by steady; zero for never
	over  chan time.Time // tells it
	links []*clockLink
	open  Open // makes the links that record /clock; nil while nobody wants it
}

// clockLink receives the clock from one publisher. It implements tcpros.LinkSink.
type clockLink struct {
	clock *Sim
	info  tcpros.LinkInfo
	rec   atomic.Pointer[recording] // records it; nil while nobody wants it
}

// Open makes the sink that records /clock of one publisher.
type Open func(tcpros.LinkInfo) (tcpros.LinkSink, error)

// recording is the sink of a link that records what it receives.
type recording struct{ tcpros.LinkSink }

// New returns a clock that nobody has told the time yet.
func New() *Sim {
	return &Sim{begun: make(chan struct{}), held: make(chan struct{}), over: make(chan time.Time, 1)}
}

// subscribe returns a clock that follows the topic of the clock.
func subscribe(n *tcpros.Node) (*Sim, error) {
	c := New()
	sub, err := n.Subscribe(tcpros.SubscribeOptions{
		Topic: Topic, Type: "rosgraph_msgs/Clock", MD5Sum: "a9c97c1d230cfc112e270351a944ee47", TCPNoDelay: true,
		Open: c.Link,
	})
	c.sub = sub
	return c, err
}

// Topic returns the resolved name of the topic of the clock.
func (c *Sim) Topic() string { return c.sub.Topic() }

// At returns the time that what was received at received is stamped with.
func (c *Sim) At(received time.Time) time.Time {
	if c == nil {
		return received
	}
	return time.Unix(0, c.now.Load())
}

// Steady returns the time that has passed by the clock when something was received at received:
// what at returned, without the steps back. It is for intervals only.
func (c *Sim) Steady(received time.Time) time.Time {
	back := c.GoneBack() // read first: set changes it last, so that no reader sees a step back as one forward
	return c.At(received).Add(back)
}

// GoneBack returns how far steady is ahead of at.
func (c *Sim) GoneBack() time.Duration {
	if c == nil {
		return 0
	}
	return time.Duration(c.back.Load())
}

// Step is what lies between the stamps of messages that came together.
func (c *Sim) Step() time.Duration {
	if c == nil {
		return 1
	}
	return 0
}

// Release lets the links go on: what records the clock from the first message on is
// there.
func (c *Sim) Release() {
	if c != nil {
		c.let.Do(func() { close(c.held) })
	}
}

// Close ends the subscription.
func (c *Sim) Close() {
	if c != nil {
		c.Release()
		c.sub.Close()
	}
}

// Until returns what tells that the clock has passed t, a time of steady. Only the last call
// counts.
func (c *Sim) Until(t time.Time) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = t.UnixNano()
	return c.over
}

// Tell makes f told of each time of the clock, with the time before it.
func (c *Sim) Tell(f func(now, before time.Time)) { c.tick.Store(&f) }

// Set follows a message of the clock.
func (c *Sim) Set(now int64) {
	if now == 0 {
		return
	}
	before := c.follow(now)
	if tick := c.tick.Load(); tick != nil {
		(*tick)(time.Unix(0, now), time.Unix(0, before))
	}
}

// follow makes now the time, and returns the time before.
func (c *Sim) follow(now int64) (before int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.now.Swap(now)
	if before == 0 {
		close(c.begun)
	}
	passed := now + c.back.Add(max(before-now, 0))
	if c.due != 0 && passed > c.due { // stock, too, records what comes at that very time
		c.due = 0
		select {
		case c.over <- time.Unix(0, now):
		default: // it is said already
		}
	}
	return before
}

// Link returns what receives the clock from one publisher.
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

// record makes the link record what it receives. open is nil where nobody wants that.
func (l *clockLink) record(open Open) error {
	if open == nil {
		return nil
	}
	rec, err := open(l.info)
	if err == nil {
		l.rec.Store(&recording{rec})
	}
	return err
}

// Record makes the clock recorded, as any topic, from now on. A node has one
// subscription to a topic: this one serves both.
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

// Forget ends that. The clock goes on.
func (c *Sim) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = nil
	for _, l := range c.links {
		if rec := l.rec.Swap(nil); rec != nil {
			rec.Closed(nil)
		}
	}
}

// Frames implements tcpros.LinkSink. A message of the clock is stamped with itself.
func (l *clockLink) Frames(run []byte, count int, received time.Time) {
	for range count {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		if size >= 12 {
			sec, nsec := binary.LittleEndian.Uint32(run[4:]), binary.LittleEndian.Uint32(run[8:])
			l.clock.Set(int64(sec)*int64(time.Second) + int64(nsec))
		}
		<-l.clock.held
		if rec := l.rec.Load(); rec != nil {
			rec.Frames(run[:size], 1, received)
		}
		run = run[size:]
	}
}

// Large implements tcpros.LinkSink. No clock is large.
func (l *clockLink) Large(int) tcpros.LargeFrame { return nil }

// Closed implements tcpros.LinkSink.
func (l *clockLink) Closed(err error) {
	l.clock.mu.Lock()
	defer l.clock.mu.Unlock()
	l.clock.links = slices.DeleteFunc(l.clock.links, func(x *clockLink) bool { return x == l })
	if rec := l.rec.Swap(nil); rec != nil {
		rec.Closed(err)
	}
}
