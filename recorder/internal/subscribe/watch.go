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
	return &watchedLink{l, sim, w.Open(resolved, rosbag.Header(info.Header))}
}

// watchedLink first records messages and then shows them to a watcher, so that what a message triggers comes
// after the message.
type watchedLink struct {
	tcpros.LinkSink
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

// Lost implements tcpros.LostSink.
func (l *watchedLink) Lost(messages int) {
	if sink, ok := l.LinkSink.(tcpros.LostSink); ok {
		sink.Lost(messages)
	}
}
