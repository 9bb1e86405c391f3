package recorder

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

const (
	clockTopic    = "/clock"
	clockPatience = 2 * time.Second // as stock, before it is said that there is no clock
)

// simClock is the time of a graph with /use_sim_time: that of the last /clock. Stamps
// follow it, also backwards, as in stock; durations, splits and rates count the time that
// passes on it, so that a simulator which is reset does not suspend them. A time of zero,
// at which stock ends, is passed over. All that concerns this machine, such as when a
// chunk is handed to the disk and the names of files, does not follow it. nil is the wall clock.
type simClock struct {
	now   atomic.Int64  // nanoseconds since 1970; zero before the first
	back  atomic.Int64  // nanoseconds by which it has gone back, all steps together
	begun chan struct{} // closed with the first
	held  chan struct{} // closed when the links need not wait for the file any more
	let   sync.Once
	sub   *tcpros.Subscription

	mu    sync.Mutex
	due   int64          // when to say that it is over, by steady; zero for never
	over  chan time.Time // tells it
	links []*clockLink
	open  func(tcpros.LinkInfo) (*link, error) // makes the links that record /clock; nil while nobody wants it
}

// clockLink receives the clock from one publisher. It implements tcpros.LinkSink.
type clockLink struct {
	clock *simClock
	info  tcpros.LinkInfo
	rec   atomic.Pointer[link] // records it; nil while nobody wants it
}

// newSimClock subscribes to the clock.
func newSimClock(n *tcpros.Node) (*simClock, error) {
	c := &simClock{begun: make(chan struct{}), held: make(chan struct{}), over: make(chan time.Time, 1)}
	sub, err := n.Subscribe(tcpros.SubscribeOptions{
		Topic: clockTopic, Type: "rosgraph_msgs/Clock", MD5Sum: "a9c97c1d230cfc112e270351a944ee47", TCPNoDelay: true,
		Open: c.openLink,
	})
	c.sub = sub
	return c, err
}

// at returns the time that what was received at received is stamped with.
func (c *simClock) at(received time.Time) time.Time {
	if c == nil {
		return received
	}
	return time.Unix(0, c.now.Load())
}

// steady returns the time that has passed by the clock when something was received at received:
// what at returned, without the steps back. It is for intervals only.
func (c *simClock) steady(received time.Time) time.Time {
	back := c.goneBack() // read first: set changes it last, so that no reader sees a step back as one forward
	return c.at(received).Add(back)
}

// goneBack returns how far steady is ahead of at.
func (c *simClock) goneBack() time.Duration {
	if c == nil {
		return 0
	}
	return time.Duration(c.back.Load())
}

// step is what lies between the stamps of messages that came together.
func (c *simClock) step() time.Duration {
	if c == nil {
		return 1
	}
	return 0
}

// release lets the links go on: what records the clock from the first message on is
// there.
func (c *simClock) release() {
	if c != nil {
		c.let.Do(func() { close(c.held) })
	}
}

// close ends the subscription.
func (c *simClock) close() {
	if c != nil {
		c.release()
		c.sub.Close()
	}
}

// until returns what tells that the clock has passed t, a time of steady. Only the last call
// counts.
func (c *simClock) until(t time.Time) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = t.UnixNano()
	return c.over
}

// set follows a message of the clock.
func (c *simClock) set(now int64) {
	if now == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.now.Swap(now)
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
}

func (c *simClock) openLink(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
	l := &clockLink{clock: c, info: info}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := l.record(); err != nil {
		return nil, err
	}
	c.links = append(c.links, l)
	return l, nil
}

// record makes the link record what it receives, if that is wanted. clock.mu is held.
func (l *clockLink) record() error {
	if l.clock.open == nil {
		return nil
	}
	rec, err := l.clock.open(l.info)
	if err == nil {
		l.rec.Store(rec)
	}
	return err
}

// record makes the clock recorded, as any topic, from now on. A node has one
// subscription to a topic: this one serves both.
func (c *simClock) record(open func(tcpros.LinkInfo) (*link, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = open
	for _, l := range c.links {
		if err := l.record(); err != nil {
			return err
		}
	}
	return nil
}

// forget ends that. The clock goes on.
func (c *simClock) forget() {
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
			l.clock.set(int64(sec)*int64(time.Second) + int64(nsec))
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

// awaitClock finds out whether the graph has a clock of its own, and waits for its
// first time. Topics that were named are linked to meanwhile, so that nothing that is
// published after that is missed. It returns false if ctx ends before.
func (r *session) awaitClock(ctx context.Context) (bool, error) {
	value, _, err := r.Node.Master().Param(ctx, "/use_sim_time")
	if err != nil {
		r.late = true // the master is away, and with it all publishers
		return true, nil
	}
	if value != true {
		return true, nil
	}
	sim, err := newSimClock(r.Node)
	if err != nil {
		return false, err
	}
	r.sim = sim
	for _, name := range r.Select.literal {
		if resolved, err := r.Node.Resolve(name); err != nil || resolved == sim.sub.Topic() {
			continue // checkNames has no doubt; the clock waits by itself
		}
		if err := r.subscribe(name, priorityNamed, time.Time{}); err != nil {
			return false, err
		}
	}
	r.logSubscribed()
	late := time.NewTimer(clockPatience)
	defer late.Stop()
	for {
		select {
		case <-r.sim.begun:
			return true, nil
		case <-late.C:
			r.Log.Warn("/use_sim_time set to true and no clock published.  Still waiting for valid time...")
		case <-ctx.Done():
			return false, nil
		}
	}
}

// lookLate asks the master that was away at the start whether it has a clock of its
// own, as soon as it answers: by then it is too late to use it.
func (r *session) lookLate(ctx context.Context) {
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
		value, _, err := r.Node.Master().Param(ctx, "/use_sim_time")
		if err != nil {
			continue
		}
		if value == true {
			r.Log.Error("the master came after the start and has /use_sim_time: messages are stamped with the wall clock; record again for stamps of /clock", zap.String("topic", clockTopic))
		}
		return
	}
}
