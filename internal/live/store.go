package live

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Errors of a Store and its viewers.
var (
	ErrTooManyViewers = errors.New("there are too many viewers already")
	ErrUnknownChannel = errors.New("there is no such channel")
)

// Limits bound the memory of frames that viewers have not received. The limit of one viewer is Viewer,
// or an equal share of All if the share is less. A message that is larger than the limit of a viewer is
// skipped for this viewer.
type Limits struct {
	Viewer  int64 // bytes for one viewer; zero means 32 MiB
	All     int64 // bytes for all viewers; zero means 64 MiB
	Inbox   int64 // bytes of frames not delivered to viewers yet, or one larger message; zero means 16 MiB
	Viewers int   // viewers at a time; zero means 16
}

func (l Limits) withDefaults() Limits {
	if l.Viewer == 0 {
		l.Viewer = 32 << 20
	}
	if l.All == 0 {
		l.All = 64 << 20
	}
	if l.Inbox == 0 {
		l.Inbox = 16 << 20
	}
	if l.Viewers == 0 {
		l.Viewers = 16
	}
	return l
}

// Store holds the channels of a source, and the frames that its viewers have not received. Its
// methods may be called from any goroutine. The lock is held for bookkeeping only, never while
// somebody waits.
type Store struct {
	limits  Limits
	latched func(ChannelID) []Frame
	inbox   inbox

	mu      sync.Mutex // lock with Store.lock, unlock with Store.unlock
	feeds   map[ChannelID]*Feed
	last    ChannelID
	notices map[string]string // by topic
	viewers []*Viewer
	jumps   uint64
	changed chan struct{}

	departed Counts // of viewers that were closed
}

// NewStore returns a store without channels.
//
// latched returns the latest message of each latching publisher of a channel, the oldest first; nil
// means that there are none. The store calls it without its lock, when a viewer subscribes to the
// channel, and gives the viewer these messages before newer ones. The function may take a lock that
// is also held around Feed.Put. A message that was put before or after the call with the same time
// and the same bytes reaches the viewer once.
func NewStore(limits Limits, latched func(ChannelID) []Frame) *Store {
	if latched == nil {
		latched = func(ChannelID) []Frame { return nil }
	}
	s := &Store{
		limits: limits.withDefaults(), latched: latched, feeds: map[ChannelID]*Feed{}, notices: map[string]string{}, changed: make(chan struct{}),
	}
	s.inbox.limit = s.limits.Inbox
	return s
}

// Open adds a channel, and assigns its ID. If a topic has several channels, viewers show only the
// first.
func (s *Store) Open(c Channel) *Feed {
	s.lock()
	defer s.unlock()
	s.last++
	c.ID = s.last
	f := &Feed{store: s, channel: c}
	s.feeds[c.ID] = f
	s.tellChange()
	return f
}

// Channels returns the open channels in the order in which they were opened.
func (s *Store) Channels() []Channel {
	s.lock()
	defer s.unlock()
	all := make([]Channel, 0, len(s.feeds))
	for _, id := range slices.Sorted(maps.Keys(s.feeds)) {
		all = append(all, s.feeds[id].channel)
	}
	return all
}

// SetNotice sets a text that viewers show about a topic, such as that the topic has a second type
// which they cannot see. An empty text removes the notice. The text must not contain figures that
// change: viewers list each distinct text.
func (s *Store) SetNotice(topic, text string) {
	s.lock()
	defer s.unlock()
	if s.notices[topic] == text {
		return
	}
	if text == "" {
		delete(s.notices, topic)
	} else {
		s.notices[topic] = text
	}
	s.tellChange()
}

// Notices returns the notices by topic.
func (s *Store) Notices() map[string]string {
	s.lock()
	defer s.unlock()
	return maps.Clone(s.notices)
}

// Changed returns a channel that is closed at the next change of the channels or notices, or by
// Change. Call Changed before Channels, so that no change is missed.
func (s *Store) Changed() <-chan struct{} {
	s.lock()
	defer s.unlock()
	return s.changed
}

// Change reports that the result of Source.Info has changed.
func (s *Store) Change() {
	s.lock()
	defer s.unlock()
	s.tellChange()
}

// tellChange closes the channel of Changed. Called with the lock.
func (s *Store) tellChange() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// SetTime sends the time to the viewers that follow a clock, after all messages that were put.
func (s *Store) SetTime(t rosbag.Time) {
	s.lock()
	defer s.unlock()
	for _, v := range s.viewers {
		v.backlog.clock.set(t, v.backlog.next)
		v.wake()
	}
}

// Jump reports that playback continues at t, before or after the present time. Frames that viewers
// have not received are removed, and do not count as skipped. The caller then puts the messages that
// are valid at t, such as latched ones.
func (s *Store) Jump(t rosbag.Time) {
	s.lock()
	defer s.unlock()
	s.jumps++
	for _, v := range s.viewers {
		v.backlog.jumpTo(t, s.jumps)
		v.wake()
	}
}

// Jumps returns the number of jumps so far.
func (s *Store) Jumps() uint64 {
	s.lock()
	defer s.unlock()
	return s.jumps
}

// Attach adds a viewer, without channels. clock says that the viewer follows the clock of the
// source. The caller must close the viewer.
func (s *Store) Attach(clock bool) (*Viewer, error) {
	s.lock()
	defer s.unlock()
	if len(s.viewers) >= s.limits.Viewers {
		return nil, ErrTooManyViewers
	}
	v := &Viewer{store: s, backlog: newBacklog(), ready: make(chan struct{}, 1)}
	v.backlog.clock.on = clock
	s.viewers = append(s.viewers, v)
	s.share()
	return v, nil
}

// Total returns the sums over all viewers, including closed ones.
func (s *Store) Total() Counts {
	s.lock()
	defer s.unlock()
	total := s.departed
	for _, v := range s.viewers {
		total.add(&v.backlog.counts)
	}
	return total
}

// Viewers returns the number of viewers.
func (s *Store) Viewers() int {
	s.lock()
	defer s.unlock()
	return len(s.viewers)
}

// share divides the memory for all viewers. Called with the lock.
func (s *Store) share() {
	for _, v := range s.viewers {
		v.backlog.limit = min(s.limits.Viewer, s.limits.All/int64(len(s.viewers)))
		v.backlog.trim()
	}
}

// give adds a frame to the backlogs of the viewers that are subscribed. Called with the lock.
func (s *Store) give(f *Feed, frame *Frame) {
	for _, v := range f.viewers {
		v.backlog.push(v.backlog.lanes[f.channel.ID], frame)
		v.wake()
	}
}
