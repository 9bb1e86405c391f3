// Package viewing shows what is played to live viewers, with the times in the bags, and lets them
// control play.
//
// The output of play calls a Viewing for each message and for each jump, under the lock of play. That
// costs one atomic load for each message on a topic that no viewer wants; otherwise the message is
// copied once for all viewers. Two goroutines of the Viewing send viewers the time while there are
// no messages, and read from the bags what was published last before a place. Play never waits for
// them, nor for a viewer.
//
// Decisions: ADR 0115.
package viewing

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Options says what viewers learn of a playback.
type Options struct {
	Name  string                                            // of the source, as viewers show it
	Graph func(context.Context) (tcpros.SystemState, error) // asks the master; nil for no graph
}

// Viewing has the channels of a playback and the messages that viewers get. Its methods may be called from
// any goroutine.
type Viewing struct {
	options Options
	store   *live.Store
	earlier chan request // for the goroutine that reads the bags

	mu      sync.Mutex
	session string // another one for each playback
	control control.Control
	plan    *plan.Plan
	topics  []*plan.Topic // the published topics
	first   rosbag.Time   // time of the first message
	feeds   []*feed       // by the number of the topic in the plan; nil if the topic is refused
	shown   map[live.ChannelID]*feed
	jumps   uint64        // so far
	changed chan struct{} // closed at the next change of the state of playback
	ended   bool          // the bags are not read any more
}

// feed is a topic as viewers see it.
type feed struct {
	*live.Feed
	topic *plan.Topic
	off   bool   // the topic is switched off: its earlier messages are not shown
	shown uint64 // jumps before the latest message, plus one; zero before the first message
}

// New returns a Viewing without channels. They come with Begin.
func New(o Options) *Viewing {
	v := &Viewing{options: o, earlier: make(chan request), changed: make(chan struct{})}
	v.store = live.NewStore(live.Limits{}, v.latched)
	return v
}

// Source returns what viewers can see; nil if the Viewing is nil.
func (v *Viewing) Source() *live.Source {
	if v == nil {
		return nil
	}
	s := &live.Source{Store: v.store, Info: v.info, Playback: playback{v}}
	if ask := v.options.Graph; ask != nil {
		s.Graph = func(ctx context.Context) (live.Graph, error) {
			state, err := ask(ctx)
			return live.Graph(state), err
		}
	}
	return s
}

func (v *Viewing) info() live.Info {
	v.mu.Lock()
	defer v.mu.Unlock()
	return live.Info{Name: v.options.Name, Session: v.session, Clock: true}
}

// Open sets which topics of a plan are published, before Begin.
func (v *Viewing) Open(p *plan.Plan, topics []*plan.Topic) { v.plan, v.topics = p, topics }

// Begin offers the topics of the playback that c controls, whose first message is at first, in the
// order of the plan. Viewers that are connected already get a new session. No message has been published yet.
func (v *Viewing) Begin(c control.Control, first rosbag.Time) {
	v.mu.Lock()
	v.session, v.control, v.first = strconv.FormatInt(time.Now().UnixNano(), 10), c, first
	v.mu.Unlock()
	v.store.Change()
	v.change()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.feeds, v.shown = make([]*feed, len(v.plan.Topics)), map[live.ChannelID]*feed{}
	for _, t := range v.topics {
		f := &feed{
			topic: t,
			Feed: v.store.Open(live.Channel{
				Topic: string(t.Name), Type: t.Type, MD5Sum: t.MD5Sum,
				Definition: msgdef.Complete(t.Type, t.MD5Sum, t.Definition),
			}),
		}
		v.feeds[t.Number], v.shown[f.Channel().ID] = f, f
	}
}

// Show shows a message to the viewers that want the topic. recorded is the time of the message in
// the bag. The frame may change after the call.
func (v *Viewing) Show(t *plan.Topic, recorded rosbag.Time, frame []byte) {
	f := v.feeds[t.Number]
	if !f.Wanted() {
		return
	}
	payload := slices.Clone(frame[stdmsg.FramePrefix:])
	v.mu.Lock()
	defer v.mu.Unlock()
	f.shown = v.jumps + 1
	f.Put(recorded, payload, 0)
}

// Switched notes that a topic is published again, or not any more.
func (v *Viewing) Switched(t *plan.Topic, off bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.feeds[t.Number].off = off
}

// Jumped tells viewers that play continues at a time in the bags. What is shown from now on is valid
// there.
func (v *Viewing) Jumped(to rosbag.Time) {
	v.mu.Lock()
	v.jumps++
	v.mu.Unlock()
	v.store.Jump(to)
	v.change()
}

// change wakes those who wait on Playback.Changed: the state of playback has changed.
func (v *Viewing) change() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.changed)
	v.changed = make(chan struct{})
}

// timeInterval is the wall time between two times that viewers receive: the rate of screens.
const timeInterval = time.Second / 60

// Run sends viewers the time and changes, and reads what they see after a jump, from Begin until
// ctx ends.
func (v *Viewing) Run(ctx context.Context) {
	c := v.control
	var reading sync.WaitGroup
	defer reading.Wait()
	defer func() {
		v.mu.Lock()
		v.ended = true
		v.mu.Unlock()
	}()
	jumped := make(chan struct{}, 1)
	// owner: Run; ends with ctx, unless a read of a bag does not return.
	reading.Go(func() { v.readEarlier(ctx, jumped) })
	ticker := time.NewTicker(timeInterval)
	defer ticker.Stop()
	changed := c.Changed()
	var last control.Status
	jumps := uint64(0)
	for {
		select {
		case <-ticker.C:
			if v.store.Viewers() == 0 {
				continue
			}
		case <-changed:
			changed = c.Changed()
		case <-ctx.Done():
			return
		}
		now := c.Status()
		if now.BagTime != last.BagTime {
			v.store.SetTime(now.BagTime)
		}
		if statusOf(&now) != statusOf(&last) || now.Rate != last.Rate {
			v.change()
		}
		last = now
		if n := v.jumpCount(); n != jumps {
			jumps = n
			select {
			case jumped <- struct{}{}:
			default:
			}
		}
	}
}

func (v *Viewing) jumpCount() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.jumps
}
