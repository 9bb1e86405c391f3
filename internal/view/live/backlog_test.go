package live_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestNewestWins: under pressure the oldest messages of the largest topic are skipped.
func TestNewestWins(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{Viewer: 10 * (1000 + overhead)}, nil)
	image, small := open(s, "/image"), open(s, "/small")
	v := attach(t, s, image, small)
	small.Put(at(1), text("s1", 100), 0)
	for i := range 100 {
		image.Put(at(2), text(fmt.Sprintf("i%d.", i), 1000), 0)
	}
	small.Put(at(3), text("s2", 100), 0)
	if got := v.Stats(); got.QueuedBytes > got.LimitBytes || got.Skipped != 91 {
		t.Errorf("%+v", got)
	}
	want := []string{"2:s1......"}
	want = append(want, "1:i91.....", "1:i92.....", "1:i93.....", "1:i94.....", "1:i95.....", "1:i96.....", "1:i97.....", "1:i98.....", "1:i99.....", "2:s2......")
	expect(t, v, want...)
}

// TestTurns: when there is no room for the newest message of each topic, topics take turns.
func TestTurns(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{Viewer: 3*(1000+overhead) + 100}, nil)
	feeds := []*live.Feed{}
	for i := range 9 {
		feeds = append(feeds, open(s, fmt.Sprintf("/camera%d", i)))
	}
	fast := feeds[8]
	v := attach(t, s, feeds...)
	served := map[live.ChannelID]int{}
	for round := range 900 {
		for i, f := range feeds {
			if f == fast || i == round%8 {
				f.Put(at(1), text(fmt.Sprintf("%d.", round), 1000), 0)
			}
		}
		f, ok := v.Take()
		if !ok {
			t.Fatal("there is nothing to take")
		}
		served[f.Channel]++
	}
	for _, f := range feeds {
		if n := served[f.Channel().ID]; n < 40 {
			t.Errorf("%s was served %d times of 900", f.Channel().Topic, n)
		}
	}
}

// TestLargeDoesNotStarve: a topic with large messages does not displace topics with small messages,
// and they do not displace it.
func TestLargeDoesNotStarve(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{Viewer: 20000}, nil)
	large := open(s, "/cloud")
	feeds := []*live.Feed{large}
	for i := range 20 {
		feeds = append(feeds, open(s, fmt.Sprintf("/small%d", i)))
	}
	v := attach(t, s, feeds...)
	served := map[live.ChannelID]int{}
	for round := range 2100 {
		for i, f := range feeds[1:] {
			f.Put(at(1), text(fmt.Sprintf("%d,%d.", i, round), 500), 0)
		}
		large.Put(at(1), text("cloud", 15000), 0)
		f, _ := v.Take()
		served[f.Channel]++
	}
	for _, f := range feeds {
		if n := served[f.Channel().ID]; n < 50 {
			t.Errorf("%s was served %d times of 2100", f.Channel().Topic, n)
		}
	}
	if got := v.Stats(); got.QueuedBytes > got.LimitBytes {
		t.Errorf("%+v", got)
	}
}

// TestLatchedSurvive: latched messages are not skipped for others, unless they are too large.
func TestLatchedSurvive(t *testing.T) {
	t.Parallel()
	var latched []live.Frame
	for i := range 5 {
		latched = append(latched, live.Frame{Time: at(uint32(i)), Payload: text(fmt.Sprintf("l%d", i), 1000)})
	}
	s := live.NewStore(live.Limits{Viewer: 4*(1000+overhead) + 50}, func(id live.ChannelID) []live.Frame {
		if id == 2 {
			return latched
		}
		return nil
	})
	image, static := open(s, "/image"), open(s, "/tf_static")
	v := attach(t, s, image, static)
	for i := range 100 {
		image.Put(at(9), text(fmt.Sprintf("i%d.", i), 1000), 0)
	}
	if got := v.Stats(); got.QueuedBytes > got.LimitBytes || got.TooLarge != 1 || got.Skipped != 101 {
		t.Errorf("%+v", got)
	}
	expect(t, v, "2:l0......", "2:l1......", "2:l2......", "2:l3......")
	image.Put(at(9), []byte("new"), 0)
	expect(t, v, "1:new")
}

// TestTooLarge: a message that is larger than the memory for a viewer is skipped, and smaller messages
// are not.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{Viewer: 2000}, nil)
	f := open(s, "/a")
	v := attach(t, s, f)
	f.Put(at(1), text("small", 10), 0)
	f.Put(at(1), text("large", 2000), 0)
	f.Put(at(1), text("retains", 10), 2000)
	f.Put(at(1), text("fits", 10), 2000-overhead-10-overhead)
	if got := v.Stats(); got.Skipped != 2 || got.TooLarge != 2 {
		t.Errorf("%+v", got)
	}
	expect(t, v, "1:small...", "1:fits....")
}

// TestInboxIsBounded: while the store is locked, the inbox is bounded, and refused frames are counted.
func TestInboxIsBounded(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{Inbox: 10 * (1000 + overhead)}, nil)
	f := open(s, "/a")
	v := attach(t, s, f)
	s.Locked(func() {
		for i := range 15 {
			f.Put(at(1), text(fmt.Sprintf("%d.", i), 1000), 0)
		}
	})
	if got := v.Stats().Skipped; got != 5 {
		t.Errorf("%d are skipped, want 5", got)
	}
	if got := takeAll(v); len(got) != 10 || got[0] != "1:0......." || got[9] != "1:9......." {
		t.Errorf("received %v", got)
	}
}

// TestLargerThanInbox: a message that is larger than the inbox reaches a viewer that has room for the
// message.
func TestLargerThanInbox(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{Inbox: 1000, Viewer: 5000}, nil)
	f := open(s, "/a")
	v := attach(t, s, f)
	f.Put(at(1), text("large", 4000), 0)
	expect(t, v, "1:large...")
	s.Locked(func() {
		f.Put(at(2), text("first", 4000), 0)
		f.Put(at(2), text("second", 4000), 0)
	})
	expect(t, v, "1:first...")
	f.Put(at(3), text("huge", 5000), 0)
	if got := v.Stats(); got.Skipped != 2 || got.TooLarge != 1 {
		t.Errorf("%+v", got)
	}
}

// TestSharesShrink: a new viewer reduces the memory of the others.
func TestSharesShrink(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{Viewer: 10000, All: 10000}, nil)
	f := open(s, "/a")
	v := attach(t, s, f)
	for i := range 8 {
		f.Put(at(1), text(fmt.Sprintf("%d.", i), 1000), 0)
	}
	w := attach(t, s, f)
	if got := v.Stats(); got.LimitBytes != 5000 || got.QueuedBytes > 5000 || got.Skipped != 4 {
		t.Errorf("%+v", got)
	}
	w.Close()
	expect(t, v, "1:4.......", "1:5.......", "1:6.......", "1:7.......")
	v.Close()
	if got := s.Total(); got.Skipped != 4 || got.Messages != 4 || got.Bytes != 4000 {
		t.Errorf("in total: %+v", got)
	}
}

// TestLimitThatFalls: a viewer that holds one message is left with less memory than the message takes, because another
// viewer has come. The message is skipped.
func TestLimitThatFalls(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{All: 10000}, nil)
	f := open(s, "/cloud")
	v := attach(t, s, f)
	f.Put(at(1), text("large", 9000), 0)
	attach(t, s)
	if got := v.Stats(); got.Skipped != 1 || got.QueuedBytes != 0 || got.LimitBytes != 5000 {
		t.Errorf("%+v", got)
	}
	f.Put(at(2), text("fits", 1000), 0)
	expect(t, v, "1:fits....")
}

// TestClock: the time is sent before later messages, at the rate of a screen, and goes back only by a
// jump.
func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := live.NewStore(live.Limits{}, func(live.ChannelID) []live.Frame { return []live.Frame{{Time: at(1), Payload: []byte("latched")}} })
		f := open(s, "/a")
		v, err := s.Attach(true)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		v.SetTime(at(100))
		v.SetTime(rosbag.Time{}) // of a playback that has not begun
		if err := v.Subscribe(f.Channel().ID); err != nil {
			t.Fatal(err)
		}
		expect(t, v, "clock 100.000000000", "1:latched")
		time.Sleep(20 * time.Millisecond)
		f.Put(at(101), []byte("m1"), 0)
		f.Put(at(102), []byte("m2"), 0)
		expect(t, v, "clock 101.000000000", "1:m1", "1:m2")
		time.Sleep(20 * time.Millisecond)
		f.Put(at(102), []byte("m3"), 0)
		f.Put(at(50), []byte("old"), 0)
		s.SetTime(at(103))
		s.SetTime(at(104))
		f.Put(at(104), []byte("m4"), 0)
		expect(t, v, "clock 102.000000000", "1:m3", "1:old", "clock 104.000000000", "1:m4")
		s.SetTime(at(104))
		s.SetTime(at(90))
		expect(t, v)
		f.Put(at(105), []byte("gone"), 0)
		s.Jump(at(20))
		f.Put(at(20), []byte("m5"), 0)
		time.Sleep(20 * time.Millisecond)
		f.Put(at(21), []byte("m6"), 0)
		expect(t, v, "jump 1 to 20.000000000", "1:m5", "clock 21.000000000", "1:m6")
	})
}

// FuzzBacklog puts, takes, subscribes and jumps at random, and another viewer comes and goes. The bounds hold, each message is received at
// most once and in the order of its topic, and messages that are not received are counted.
func FuzzBacklog(f *testing.F) {
	f.Add([]byte("abcdefgh"), uint16(3000))
	f.Add([]byte(strings.Repeat("\x00\x10\x20\x31\x42\x53\x64\x75\x86\x97\xa8\xb9\xca\xdb\xec\xfd", 20)), uint16(1500))
	f.Fuzz(func(t *testing.T, ops []byte, limit uint16) {
		s := live.NewStore(live.Limits{All: 200 + int64(limit)}, nil)
		feeds := []*live.Feed{open(s, "/a"), open(s, "/b"), open(s, "/c")}
		v, err := s.Attach(false)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		var other *live.Viewer // halves the memory of v
		defer func() {
			if other != nil {
				other.Close()
			}
		}()
		wanted := map[live.ChannelID]bool{}
		last := map[live.ChannelID]rosbag.Time{}
		put := uint64(0) // while the viewer was subscribed
		for i, op := range ops {
			feed := feeds[int(op)%len(feeds)]
			id := feed.Channel().ID
			switch op >> 4 {
			case 0:
				if err := v.Subscribe(id); err != nil {
					t.Fatal(err)
				}
				wanted[id] = true
			case 1:
				v.Unsubscribe(id)
				delete(wanted, id)
			case 2:
				s.Jump(at(uint32(i)))
			case 3, 4, 5, 6:
				if frame, ok := v.Take(); ok && frame.Kind == live.Message {
					if !wanted[frame.Channel] || !last[frame.Channel].Before(frame.Time) {
						t.Fatalf("channel %d: %s after %s", frame.Channel, frame.Time, last[frame.Channel])
					}
					last[frame.Channel] = frame.Time
				}
			case 7:
				if other != nil {
					other.Close()
					other = nil
				} else if other, err = s.Attach(false); err != nil {
					t.Fatal(err)
				}
			default:
				feed.Put(at(uint32(i+1)), make([]byte, int(op)*10), 0)
				if wanted[id] {
					put++
				}
			}
			if got := v.Stats(); got.QueuedBytes > got.LimitBytes || got.QueuedBytes < 0 {
				t.Fatalf("%+v", got)
			}
		}
		for {
			frame, ok := v.Take()
			if !ok {
				break
			}
			if frame.Kind == live.Message && !last[frame.Channel].Before(frame.Time) {
				t.Fatalf("channel %d: %s after %s", frame.Channel, frame.Time, last[frame.Channel])
			}
		}
		got := v.Stats()
		if got.QueuedBytes != 0 || got.Messages+got.Skipped > put {
			t.Fatalf("%d were put: %+v", put, got)
		}
		if !strings.ContainsAny(string(ops), jumpsAndLeaves) && got.Messages+got.Skipped != put {
			t.Fatalf("%d were put: %+v", put, got)
		}
		if diff := cmp.Diff(s.Total(), got.Counts); diff != "" {
			t.Fatal(diff)
		}
	})
}

// jumpsAndLeaves are the operations after which messages are neither received nor skipped.
const jumpsAndLeaves = "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x20\x21\x22\x23\x24\x25\x26\x27\x28\x29\x2a\x2b\x2c\x2d\x2e\x2f"
