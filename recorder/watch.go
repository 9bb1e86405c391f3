package recorder

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Watcher looks at the messages of some recorded topics as they arrive, whatever the state of
// the recording. Its methods are called by many goroutines and must not wait for anything.
type Watcher interface {
	// Topics returns the resolved names of the topics to watch. Run returns an error that
	// matches ErrNotSelected for one that the selection leaves out for certain.
	Topics() []string
	// Open is called when a publisher of such a topic is linked. header must not be changed.
	Open(topic string, header rosbag.Header) LinkWatcher
	// Triggers returns an account of what the messages have triggered.
	Triggers() []TriggerStats
}

// LinkWatcher looks at the messages of one publisher. Only the goroutine of its link calls it.
type LinkWatcher interface {
	// Frames is told of count complete frames back to back, valid during the call only, when
	// the recording has them. stamp is the time of the last one in the bag, received that of
	// its arrival.
	Frames(run []byte, count int, stamp, received time.Time)
	// Skipped is told of messages of more than 128 KiB. They are not collected for a watcher.
	Skipped(messages int)
}

// TriggerStats is the account of one trigger.
type TriggerStats struct {
	Option     string // that it was given by, as "stop-on"
	Expression string
	Topics     []string // that it watches, resolved
	Messages   uint64   // that the expression was evaluated for
	Fired      uint64
	Suppressed uint64   // times that the expression turned true soon after it had fired
	Refused    uint64   // times that it fired and the recording did not do what it asks for
	Skipped    uint64   // messages of its topics that were not looked at: too large, or too many at once
	Errors     uint64   // messages for which the expression could not be evaluated
	Silent     []string // those of Topics that had no message
}

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
func (r *session) triggers() []TriggerStats {
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
	watcher LinkWatcher
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
