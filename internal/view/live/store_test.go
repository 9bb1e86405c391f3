package live_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/rosbag"
)

// overhead is the number of bytes that a frame counts besides its payload.
const overhead = 128

func at(sec uint32) rosbag.Time { return rosbag.Time{Sec: sec} }

func open(s *live.Store, topic string) *live.Feed {
	return s.Open(live.Channel{Topic: topic, Type: "std_msgs/String", MD5Sum: "992ce8a1687cec8c8bd883ec73ca41d1", Definition: "string data\n"})
}

func attach(t *testing.T, s *live.Store, feeds ...*live.Feed) *live.Viewer {
	t.Helper()
	v, err := s.Attach(false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	for _, f := range feeds {
		if err := v.Subscribe(f.Channel().ID); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// takeAll returns what the viewer receives: messages as channel:payload, cut to 8 bytes.
func takeAll(v *live.Viewer) (all []string) {
	for {
		f, ok := v.Take()
		switch {
		case !ok:
			return all
		case f.Kind == live.Clock:
			all = append(all, "clock "+f.Time.String())
		case f.Kind == live.Jump:
			all = append(all, fmt.Sprintf("jump %d to %s", f.Jumps, f.Time))
		default:
			all = append(all, fmt.Sprintf("%d:%.8s", f.Channel, f.Payload))
		}
	}
}

func expect(t *testing.T, v *live.Viewer, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, takeAll(v)); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
}

// text returns a message of n bytes that begins with s.
func text(s string, n int) []byte { return append([]byte(s), bytes.Repeat([]byte{'.'}, n-len(s))...) }

func TestOrder(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{}, nil)
	a, b, c := open(s, "/a"), open(s, "/b"), open(s, "/c")
	v := attach(t, s, a, b)
	for i := range uint32(3) {
		b.Put(at(i), fmt.Appendf(nil, "b%d", i), 0)
		a.Put(at(i), fmt.Appendf(nil, "a%d", i), 0)
		c.Put(at(i), []byte("not wanted"), 0)
	}
	expect(t, v, "2:b0", "1:a0", "2:b1", "1:a1", "2:b2", "1:a2")
	select {
	case <-v.Ready():
	default:
		t.Error("the viewer was not woken")
	}
	v.Unsubscribe(a.Channel().ID)
	a.Put(at(9), []byte("late"), 0)
	b.Put(at(9), []byte("b9"), 0)
	expect(t, v, "2:b9")
}

func TestWanted(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{}, nil)
	f := open(s, "/a")
	if f.Wanted() {
		t.Error("wanted without a viewer")
	}
	v, w := attach(t, s, f), attach(t, s, f)
	v.Close()
	v.Close()
	if !f.Wanted() {
		t.Error("not wanted although one viewer is left")
	}
	w.Unsubscribe(f.Channel().ID)
	if f.Wanted() {
		t.Error("wanted without a viewer")
	}
	if err := w.Subscribe(99); !errors.Is(err, live.ErrUnknownChannel) {
		t.Errorf("subscribed to an unknown channel: %v", err)
	}
	if err := v.Subscribe(f.Channel().ID); !errors.Is(err, live.ErrUnknownChannel) {
		t.Errorf("a closed viewer subscribed: %v", err)
	}
}

func TestChannels(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{}, nil)
	closed := func(changed <-chan struct{}) bool {
		select {
		case <-changed:
			return true
		default:
			return false
		}
	}
	changed := s.Changed()
	a := open(s, "/a")
	if !closed(changed) {
		t.Error("a new channel is no change")
	}
	open(s, "/b")
	v := attach(t, s, a)
	a.Put(at(1), []byte("x"), 0)
	changed = s.Changed()
	a.Close()
	a.Close()
	if !closed(changed) {
		t.Error("a closed channel is no change")
	}
	a.Put(at(1), []byte("x"), 0)
	expect(t, v)
	if again := open(s, "/a"); again.Channel().ID != 3 {
		t.Errorf("the channel has number %d, want another one than before", again.Channel().ID)
	}
	topics := []string{}
	for _, c := range s.Channels() {
		topics = append(topics, c.Topic)
	}
	if diff := cmp.Diff([]string{"/b", "/a"}, topics); diff != "" {
		t.Error(diff)
	}
	changed = s.Changed()
	s.SetNotice("/a", "two types")
	if !closed(changed) {
		t.Error("a notice is no change")
	}
	changed = s.Changed()
	s.SetNotice("/a", "two types")
	if closed(changed) {
		t.Error("the same notice is a change")
	}
	if diff := cmp.Diff(map[string]string{"/a": "two types"}, s.Notices()); diff != "" {
		t.Error(diff)
	}
	s.SetNotice("/a", "")
	if len(s.Notices()) != 0 {
		t.Error("the notice is still there")
	}
}

func TestLatched(t *testing.T) {
	t.Parallel()
	var latched []live.Frame
	meanwhile := func() {}
	s := live.NewStore(live.Limits{}, func(live.ChannelID) []live.Frame {
		meanwhile()
		return latched
	})
	f := open(s, "/tf_static")
	latched = []live.Frame{{Time: at(1), Payload: []byte("one")}, {Time: at(2), Payload: []byte("two")}}
	// A third publisher latches while the viewer subscribes: its message is among the latched ones already.
	third := live.Frame{Time: at(3), Payload: []byte("three")}
	meanwhile = func() { f.Put(third.Time, third.Payload, 0); latched = append(latched, third) }
	v := attach(t, s, f)
	f.Put(at(4), []byte("new"), 0)
	expect(t, v, "1:one", "1:two", "1:three", "1:new")

	// A message that is among the latched ones may also be put afterwards.
	meanwhile = func() {}
	w := attach(t, s, f)
	f.Put(third.Time, third.Payload, 0)
	f.Put(third.Time, []byte("THREE"), 0)
	expect(t, w, "1:one", "1:two", "1:three", "1:THREE")
	expect(t, v, "1:three", "1:THREE") // it subscribed before
}

func TestJump(t *testing.T) {
	t.Parallel()
	var s *live.Store
	calls := 0
	s = live.NewStore(live.Limits{}, func(id live.ChannelID) []live.Frame {
		if calls++; id == 2 && calls == 2 {
			s.Jump(at(50)) // while the viewer subscribes
		}
		return []live.Frame{{Time: at(uint32(calls)), Payload: fmt.Appendf(nil, "l%d", calls)}}
	})
	a, b := open(s, "/a"), open(s, "/b")
	v := attach(t, s, a)
	a.Put(at(10), []byte("old"), 0)
	if err := v.Subscribe(b.Channel().ID); err != nil {
		t.Fatal(err)
	}
	a.Put(at(51), []byte("new"), 0)
	expect(t, v, "jump 1 to 50.000000000", "2:l3", "1:new")
	if n := v.Stats().Skipped; n != 0 {
		t.Errorf("%d messages count as skipped", n)
	}
	s.Jump(at(1))
	s.Jump(at(2))
	expect(t, v, "jump 3 to 2.000000000")
}

func TestViewersAreLimited(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{Viewers: 2, All: 1000, Viewer: 800}, nil)
	v := attach(t, s)
	if got := v.Stats().LimitBytes; got != 800 {
		t.Errorf("one viewer may have %d bytes", got)
	}
	w := attach(t, s)
	if got := v.Stats().LimitBytes; got != 500 {
		t.Errorf("each of two viewers may have %d bytes", got)
	}
	if _, err := s.Attach(false); !errors.Is(err, live.ErrTooManyViewers) {
		t.Errorf("a third viewer: %v", err)
	}
	w.Close()
	if got := v.Stats().LimitBytes; got != 800 {
		t.Errorf("after one has gone the other may have %d bytes", got)
	}
}

// TestConcurrent puts from several goroutines while viewers come, take and go. Each viewer receives
// the messages of each feed in their order.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{Viewer: 20000}, func(live.ChannelID) []live.Frame { return []live.Frame{{Time: at(0), Payload: []byte("latched")}} })
	feeds := []*live.Feed{open(s, "/a"), open(s, "/b"), open(s, "/c")}
	var putting, taking sync.WaitGroup
	for _, f := range feeds {
		putting.Go(func() {
			for i := range uint32(5000) {
				f.Put(at(i+1), []byte("message"), 0)
			}
		})
	}
	ended := make(chan struct{})
	for range 4 {
		taking.Go(func() {
			for {
				v, err := s.Attach(true)
				if err != nil {
					t.Error(err)
					return
				}
				for _, f := range feeds {
					if err := v.Subscribe(f.Channel().ID); err != nil {
						t.Error(err)
					}
				}
				last := map[live.ChannelID]rosbag.Time{}
				for range 2000 {
					f, ok := v.Take()
					if !ok || f.Kind != live.Message {
						continue
					}
					if before, ok := last[f.Channel]; ok && !before.Before(f.Time) {
						t.Errorf("channel %d: %s after %s", f.Channel, f.Time, before)
					}
					last[f.Channel] = f.Time
				}
				v.Close()
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	putting.Wait()
	close(ended)
	taking.Wait()
	v := attach(t, s, feeds...)
	expect(t, v, "1:latched", "2:latched", "3:latched")
}
