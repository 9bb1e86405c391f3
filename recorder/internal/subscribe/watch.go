package subscribe

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Watched returns a sink that also shows messages to w, if w watches the topic, and otherwise l itself. w is
// nil if nothing is watched; sim is nil for the wall clock.
func Watched(w control.Watcher, sim *simtime.Sim, resolved string, info tcpros.LinkInfo, l tcpros.LinkSink) tcpros.LinkSink {
	if w == nil || !slices.Contains(w.Topics(), resolved) {
		return l
	}
	return &watchedLink{wrapper{l}, sim, w.Open(resolved, rosbag.Header(info.Header))}
}

// watchedLink first records messages and then shows them to a watcher, so that what a message triggers comes
// after the message.
type watchedLink struct {
	wrapper
	sim     *simtime.Sim
	watcher control.LinkWatcher
}

// Frames implements tcpros.LinkSink.
func (l *watchedLink) Frames(run []byte, count int, received time.Time) {
	l.LinkSink.Frames(run, count, received)
	l.watcher.Frames(run, count, l.sim.At(received), received)
}

// Large implements tcpros.LinkSink.
func (l *watchedLink) Large(frameBytes int) tcpros.LargeFrame {
	l.watcher.Skipped(1)
	return l.LinkSink.Large(frameBytes)
}

// wrapper hands on all calls to the sink of the recording. It implements tcpros.LostSink.
type wrapper struct{ tcpros.LinkSink }

// Lost implements tcpros.LostSink.
func (w wrapper) Lost(messages int) {
	if sink, ok := w.LinkSink.(tcpros.LostSink); ok {
		sink.Lost(messages)
	}
}
