package face_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// fakePlayer is a control.Control that remembers what it was told.
type fakePlayer struct {
	mu    sync.Mutex
	stats control.Stats
	calls []string
	atEnd bool // there is no message to step to
}

func newFakePlayer(topics ...string) *fakePlayer {
	f := &fakePlayer{stats: control.Stats{Status: control.Status{
		Phase: control.PhasePlay, Rate: 1, Played: 9987 * time.Millisecond, Elapsed: 10 * time.Second, Late: 130 * time.Microsecond, BagTime: rosbag.TimeOf(time.Unix(1_748_682_000, 0)),
		Position: 21*time.Second + 300*time.Millisecond, Length: 75 * time.Second, LoopTo: 75 * time.Second, Messages: 48_211,
	}}}
	for i, topic := range topics {
		f.stats.Topics = append(f.stats.Topics, control.TopicStats{
			Name: topic, Type: "pkg/Type", Messages: uint64(1000 * (i + 1)), Bytes: uint64(123_456 * (i + 1)), Subscribers: make([]tcpros.SubscriberStats, i%3),
		})
	}
	return f
}

// did notes a call and changes the state.
func (f *fakePlayer) did(call string, change func(*control.Stats)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
	if change != nil {
		change(&f.stats)
	}
}

// said returns the calls so far.
func (f *fakePlayer) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

var errFake = errors.New("there is no such thing")

// paused reports whether that has changed the state.
func (f *fakePlayer) paused(call string, on bool) (changed bool) {
	f.did(call, func(s *control.Stats) { changed, s.Paused = s.Paused != on, on })
	return changed
}

func (f *fakePlayer) step(call string) bool {
	f.did(call, nil)
	return f.Status().Paused && !f.atEnd
}

func (f *fakePlayer) Pause() bool      { return f.paused("pause", true) }
func (f *fakePlayer) Resume() bool     { return f.paused("resume", false) }
func (f *fakePlayer) Step() bool       { return f.step("step") }
func (f *fakePlayer) StepBack() bool   { return f.step("step back") }
func (f *fakePlayer) Burst(n int) bool { return f.step(fmt.Sprint("burst ", n)) }
func (f *fakePlayer) Stop()            { f.did("stop", nil) }

func (f *fakePlayer) Toggle() (paused bool) {
	f.did("toggle", func(s *control.Stats) { s.Paused = !s.Paused; paused = s.Paused })
	return paused
}

func (f *fakePlayer) Seek(to time.Duration) {
	f.did(fmt.Sprint("seek ", to), func(s *control.Stats) {
		s.BagTime = s.BagTime.Add(to - s.Position)
		s.Position = to
	})
}

func (f *fakePlayer) SetRate(rate float64) error {
	if !(rate > 0) {
		return &control.OptionError{Option: "Rate", Reason: "must be positive"}
	}
	f.did(fmt.Sprint("rate ", rate), func(s *control.Stats) { s.Rate = rate })
	return nil
}

func (f *fakePlayer) SetLoop(on bool) {
	f.did(fmt.Sprint("loop ", on), func(s *control.Stats) { s.Loop = on })
}

func (f *fakePlayer) SetLoopRange(from, to time.Duration) error {
	if from >= to {
		return errFake
	}
	f.did(fmt.Sprint("range ", from, " ", to), func(s *control.Stats) { s.LoopFrom, s.LoopTo = from, to })
	return nil
}

func (f *fakePlayer) Bookmark() (at time.Duration, err error) {
	f.did("bookmark", func(s *control.Stats) {
		at = s.Position
		if len(s.Bookmarks) == 2 {
			err = control.ErrBookmarks
			return
		}
		s.Bookmarks = append(s.Bookmarks, at)
	})
	return at, err
}

func (f *fakePlayer) PauseOnTopics(on bool) { f.did(fmt.Sprint("pause on topics ", on), nil) }

func (f *fakePlayer) SetTopic(topic string, on bool) error {
	err := errFake
	f.did(fmt.Sprint("topic ", topic, " ", on), func(s *control.Stats) {
		for i := range s.Topics {
			if s.Topics[i].Name == topic {
				s.Topics[i].Off, err = !on, nil
			}
		}
	})
	return err
}

func (f *fakePlayer) Status() control.Status { return f.Stats().Status }

func (f *fakePlayer) Stats() control.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats
	s.Topics = append([]control.TopicStats(nil), s.Topics...)
	return s
}

func (f *fakePlayer) Density(n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(400 * (1 + math.Sin(float64(i)/9)) * (1 + math.Sin(float64(i)/2.3)/3))
	}
	return all
}

func (f *fakePlayer) Changed() <-chan struct{} { return nil }
