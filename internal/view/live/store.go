package live

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

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
// methods may be called from any goroutine.
//
// No method that a source calls waits for viewers: what it changes is put into the inbox. Nor does one
// that reads figures. The lock of the backlogs is held for a bounded number of frames at a time.
type Store struct {
	catalog

	limits  Limits
	latched func(ChannelID) []Frame
	inbox   inbox
	issued  atomic.Uint64 // jumps that were put into the inbox

	mu      sync.Mutex // of the backlogs
	viewers []*Viewer  // changed with mu and present, read with either
	jumps   uint64     // that were delivered

	present  sync.Mutex // held for a moment only
	departed Counts     // of viewers that were closed; guarded by present
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
		limits: limits.withDefaults(), latched: latched,
		catalog: catalog{
			feeds: map[ChannelID]*Feed{}, notices: map[string]string{},
			changed: make(chan struct{}),
		},
	}
	s.inbox.limit = s.limits.Inbox
	return s
}

// Open adds a channel, and assigns its ID. If a topic has several channels, viewers show only the
// first.
func (s *Store) Open(c Channel) *Feed { return s.open(s, c) }

// SetTime sends the time to the viewers that follow a clock, after all messages that were put.
func (s *Store) SetTime(t rosbag.Time) { s.order(nil, &Frame{Kind: Clock, Time: t}) }

// Jump reports that playback continues at t, before or after the present time. Frames that viewers
// have not received are removed, and do not count as skipped. The caller then puts the messages that
// are valid at t, such as latched ones. One goroutine at a time may call Jump.
func (s *Store) Jump(t rosbag.Time) {
	s.order(nil, &Frame{Kind: Jump, Time: t, Jumps: s.issued.Add(1)})
}

// order puts a frame that is not a message into the inbox.
func (s *Store) order(feed *Feed, f *Frame) {
	s.inbox.order(feed, f)
	s.tryDeliver()
}

// Jumps returns the number of jumps so far.
func (s *Store) Jumps() uint64 { return s.issued.Load() }

// Attach adds a viewer, without channels. clock says that the viewer follows the clock of the
// source. The caller must close the viewer.
func (s *Store) Attach(clock bool) (*Viewer, error) {
	s.mu.Lock()
	defer s.unlock()
	if len(s.viewers) >= s.limits.Viewers {
		return nil, ErrTooManyViewers
	}
	v := &Viewer{store: s, ready: make(chan struct{}, 1), feeds: map[ChannelID]*Feed{}}
	v.backlog.init()
	v.backlog.clock.on = clock
	s.setViewers(append(slices.Clone(s.viewers), v), Counts{})
	return v, nil
}

// setViewers sets the viewers, adds the counts of one that has left, and divides the memory for all
// viewers. Called with the lock.
func (s *Store) setViewers(viewers []*Viewer, departed Counts) {
	s.present.Lock()
	s.viewers = viewers
	s.departed.add(departed)
	s.present.Unlock()
	for _, v := range viewers {
		v.backlog.limit.Store(min(s.limits.Viewer, s.limits.All/int64(len(viewers))))
		v.backlog.trim()
	}
}

// Total returns the sums over all viewers, including closed ones.
func (s *Store) Total() Counts {
	s.present.Lock()
	defer s.present.Unlock()
	total := s.departed
	for _, v := range s.viewers {
		total.add(v.backlog.tally.sum())
	}
	return total
}

// Viewers returns the number of viewers.
func (s *Store) Viewers() int {
	s.present.Lock()
	defer s.present.Unlock()
	return len(s.viewers)
}
