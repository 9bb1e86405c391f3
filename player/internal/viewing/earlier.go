package viewing

import (
	"context"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/rosbag"
)

// request asks for the latest messages of a topic at the place of play.
type request struct {
	feed   *feed
	answer chan []live.Frame // has room for the answer
}

// answerTimeout is how long a viewer that subscribes waits for earlier messages. It gets the messages
// that are played in the meantime afterwards.
const answerTimeout = time.Second

// latched returns the latest message of each publisher of a channel: what a new subscriber sees, also
// while play is paused.
func (v *Viewing) latched(id live.ChannelID) []live.Frame {
	f := v.feedOf(id)
	if f == nil {
		return nil
	}
	r := request{f, make(chan []live.Frame, 1)}
	late := time.NewTimer(answerTimeout)
	defer late.Stop()
	select {
	case v.earlier <- r:
	case <-late.C:
		return nil
	}
	select {
	case frames := <-r.answer:
		return frames
	case <-late.C:
		return nil
	}
}

// feedOf returns the feed of a channel, nil if its earlier messages are not to be shown.
func (v *Viewing) feedOf(id live.ChannelID) *feed {
	v.mu.Lock()
	defer v.mu.Unlock()
	if f := v.shown[id]; f != nil && v.control != nil && !v.ended && !f.off {
		return f
	}
	return nil
}

// readEarlier answers requests, and shows what was published last before each jump, until ctx ends.
func (v *Viewing) readEarlier(ctx context.Context, jumped <-chan struct{}) {
	for {
		select {
		case r := <-v.earlier:
			status := v.control.Status()
			r.answer <- v.read(ctx, status.BagTime,
				func(route *plan.Route) bool { return route.Topic == r.feed.topic })
		case <-jumped:
			v.showEarlier(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// showEarlier shows the latest messages before the last jump, of topics that viewers want and that
// had no message since. Latched messages are not among them: the output publishes those.
func (v *Viewing) showEarlier(ctx context.Context) {
	jump := v.jumpCount()
	stale := func(f *feed) bool { return f == nil || f.off || f.shown > jump || !f.Wanted() }
	v.mu.Lock()
	wanted := make([]bool, len(v.feeds))
	for i, f := range v.feeds {
		wanted[i] = !stale(f)
	}
	v.mu.Unlock()
	if !slices.Contains(wanted, true) {
		return
	}
	status := v.control.Status()
	frames := v.read(ctx, status.BagTime.Add(-time.Nanosecond), func(r *plan.Route) bool {
		return wanted[r.Topic.Number] && !r.Publisher.Latching
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.jumps != jump {
		return // showEarlier is called again for the next jump
	}
	for _, m := range frames {
		if f := v.shown[m.Channel]; !stale(f) {
			f.Put(m.Time, m.Payload, 0)
		}
	}
}

// read returns the latest message, at a time or before, of each publisher whose route is wanted, the
// oldest first. Damage is left out: play reports it.
func (v *Viewing) read(ctx context.Context, at rosbag.Time,
	want func(*plan.Route) bool,
) (frames []live.Frame) {
	var state plan.State
	for _, b := range v.plan.Bags {
		source, ok := b.Source.(rosbag.Latest)
		if !ok {
			continue
		}
		keep := func(c *rosbag.Connection) bool {
			r := b.Routes[c]
			return r != nil && r.Reason == "" && want(r)
		}
		for c, found := range source.Latest(at, keep) {
			if ctx.Err() != nil {
				return nil
			}
			r := b.Routes[c]
			if m := found.Message; m != nil && (r.Publisher.Latching || !m.Time.Before(v.first)) {
				state.Add(r, m)
			}
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range state.Sorted() {
		frames = append(frames,
			live.Frame{
				Channel: v.feeds[l.Route.Topic.Number].Channel().ID, Time: l.Recorded,
				Payload: l.Frame[stdmsg.FramePrefix:],
			})
	}
	return frames
}
