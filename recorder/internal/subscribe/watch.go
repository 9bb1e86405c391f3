package subscribe

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// watchersOf returns who watches a link, in the order in which they are shown each message.
func (s *Set) watchersOf(resolved topicname.InGraph, info tcpros.LinkInfo) (all []control.LinkWatcher) {
	header := rosbag.Header(info.Header)
	if s.Watch != nil && slices.Contains(s.Watch.Topics(), resolved) {
		all = append(all, s.Watch.Open(resolved, header))
	}
	if t := s.trigger; t != nil && t.topic == resolved && header.Type() == triggerType {
		all = append(all, t)
	}
	return all
}

// watched returns a sink that also shows messages to watchers, or l itself if there are none. sim is nil
// for the wall clock.
func watched(l tcpros.LinkSink, sim *simtime.Sim, watchers ...control.LinkWatcher) tcpros.LinkSink {
	if len(watchers) == 0 {
		return l
	}
	return &watchedLink{l, sim, watchers}
}

// watchedLink first records messages and then shows them to the watchers, so that what a message triggers
// comes after the message.
type watchedLink struct {
	tcpros.LinkSink
	sim      *simtime.Sim
	watchers []control.LinkWatcher // in their order
}

// Frames implements tcpros.LinkSink.
func (l *watchedLink) Frames(run []byte, count int, received time.Time) {
	l.LinkSink.Frames(run, count, received)
	at := l.sim.At(received)
	for _, w := range l.watchers {
		w.Frames(run, count, at, received)
	}
}

// Large implements tcpros.LargeSink.
func (l *watchedLink) Large(frameBytes int) tcpros.LargeFrame {
	for _, w := range l.watchers {
		w.Skipped(1)
	}
	return tcpros.LargeOf(l.LinkSink, frameBytes)
}

// Lost implements tcpros.LostSink.
func (l *watchedLink) Lost(messages int) {
	if sink, ok := l.LinkSink.(tcpros.LostSink); ok {
		sink.Lost(messages)
	}
}
