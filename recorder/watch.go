package recorder

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// ErrNotSelected means that a topic is to be watched and is not recorded.
var ErrNotSelected = errors.New("a topic that a trigger watches is not recorded")

// checkWatched returns an error for a topic to watch that is certainly not recorded.
func (o *Options) checkWatched() error {
	if o.Watch == nil {
		return nil
	}
	for _, topic := range o.Watch.Topics() {
		if !o.names(topic) && !o.Select.maySelect(topic) {
			return fmt.Errorf("%w: %s", ErrNotSelected, topic)
		}
	}
	return nil
}

// watch returns the sink for a link of a topic: l itself unless the topic is watched.
func (r *session) watch(resolved string, info tcpros.LinkInfo, l tcpros.LinkSink) tcpros.LinkSink {
	if r.Watch == nil || !slices.Contains(r.Watch.Topics(), resolved) {
		return l
	}
	return &watchedLink{l, r.sim, r.Watch.Open(resolved, rosbag.Header(info.Header))}
}

// triggers returns the accounts of the triggers, nil without any.
func (r *session) triggers() []control.TriggerStats {
	if r.Watch == nil {
		return nil
	}
	return r.Watch.Triggers()
}

// watchedLink records messages and then shows them to a watcher: what a message triggers comes
// behind it.
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
