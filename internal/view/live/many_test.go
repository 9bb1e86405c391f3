package live_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/internal/view/live"
)

// TestManyTopicsCostNoMore: what a message costs that a full viewer skips another one for, and what
// taking one costs, hardly grows with the number of topics. Linear work would cost 100 times as much.
func TestManyTopicsCostNoMore(t *testing.T) {
	few, many := costOf(t, 20), costOf(t, 2000)
	t.Logf("20 topics: %v, 2000 topics: %v", few, many)
	if many > 10*few {
		t.Errorf("%d messages cost %v with 2000 topics, and %v with 20", costMessages, many, few)
	}
}

const costMessages = 40_000

// costOf returns the least processor time that messages cost a viewer that takes one of ten.
func costOf(t *testing.T, topics int) time.Duration {
	t.Helper()
	least := time.Duration(math.MaxInt64)
	for range 3 {
		s := live.NewStore(live.Limits{Viewer: int64(topics) * (200 + overhead)}, nil) // half of what comes in a round
		feeds := make([]*live.Feed, topics)
		for i := range feeds {
			feeds[i] = open(s, fmt.Sprintf("/t%d", i))
		}
		v := attach(t, s, feeds...)
		payload := text("", 400)
		put := func(i int) { feeds[i*7%topics].Put(at(uint32(i)), payload[:100+i%300], 0) }
		for i := range 4 * topics {
			put(i)
		}
		if v.Stats().Skipped == 0 {
			t.Fatal("the viewer is not full")
		}
		began := testkit.CPUTime(t)
		for i := range costMessages {
			put(i)
			if i%10 == 0 {
				v.Take()
			}
		}
		least = min(least, testkit.CPUTime(t)-began)
	}
	return least
}

// TestNobodyWaits: while the lock of the backlogs is held, for viewers, a source and a page go on.
// What a source has done then reaches the viewers afterwards, in order.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	s := live.NewStore(live.Limits{}, nil)
	a, b := open(s, "/a"), open(s, "/b")
	v, err := s.Attach(true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	for _, f := range []*live.Feed{a, b} {
		if err := v.Subscribe(f.Channel().ID); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	s.Locked(func() {
		go func() {
			defer close(done)
			a.Put(at(1), []byte("gone"), 0)
			s.Jump(at(5))
			a.Put(at(5), []byte("a5"), 0)
			b.Put(at(5), []byte("b5"), 0)
			s.SetTime(at(6))
			b.Close()
			open(s, "/c").Close()
			s.SetNotice("/a", "text")
			s.Change()
			if n := s.Jumps(); n != 1 {
				t.Errorf("%d jumps", n)
			}
			if n := len(s.Channels()); n != 1 {
				t.Errorf("%d channels are open", n)
			}
			s.Changed()
			s.Notices()
			s.Total()
			s.Viewers()
			v.Stats()
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("somebody waits for the lock")
		}
	})
	<-done
	expect(t, v, "jump 1 to 5.000000000", "1:a5", "clock 6.000000000")
	if b.Wanted() {
		t.Error("a closed channel is wanted")
	}
}

// TestPutIsBounded: a goroutine that puts one message delivers only some of those that others have put:
// a link of a recording has messages of its own to read. Viewers deliver the rest.
func TestPutIsBounded(t *testing.T) {
	t.Parallel()
	const frames = 20_000
	s := live.NewStore(live.Limits{}, nil)
	f := open(s, "/a")
	v := attach(t, s, f)
	s.Locked(func() {
		for i := range frames {
			f.Put(at(uint32(i)), fmt.Appendf(nil, "%d", i), 0)
		}
	})
	select {
	case <-v.Ready():
	default:
		t.Error("the viewer is not woken")
	}
	delivered := v.Stats().QueuedBytes / overhead
	f.Put(at(frames), []byte("last"), 0)
	if now := v.Stats().QueuedBytes / overhead; delivered > 1000 || now > 2000 {
		t.Errorf("about %d messages are delivered at once, and %d by one Put", delivered, now-delivered)
	}
	var got []string
	for len(got) <= frames {
		select {
		case <-v.Ready():
		default:
			t.Fatalf("after %d messages the viewer is not woken", len(got))
		}
		got = append(got, takeAll(v)...)
	}
	want := make([]string, frames, frames+1)
	for i := range want {
		want[i] = fmt.Sprintf("1:%.8s", fmt.Sprint(i))
	}
	if !slices.Equal(got, append(want, "1:last")) {
		t.Error("messages are missing, or in another order")
	}
}

// TestNoRoomIsKept: topics that had many messages waiting, one after the other, and have none any more take no memory.
func TestNoRoomIsKept(t *testing.T) {
	const topics, frames = 20, 20_000
	s := live.NewStore(live.Limits{}, nil)
	feeds := make([]*live.Feed, topics)
	for i := range feeds {
		feeds[i] = open(s, fmt.Sprintf("/t%d", i))
	}
	v := attach(t, s, feeds...)
	before := heap()
	for _, f := range feeds {
		for range frames {
			f.Put(at(1), nil, 0)
		}
		for ok := true; ok; {
			_, ok = v.Take()
		}
	}
	grown := heap() - before
	if got := v.Stats(); got.Messages != topics*frames || grown > 1<<20 {
		t.Errorf("%d bytes are kept after %+v", grown, got)
	}
	runtime.KeepAlive(v)
}

// heap returns the number of bytes in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestManyChannelsEnd: what the end of a channel costs does not grow with the number of channels.
func TestManyChannelsEnd(t *testing.T) {
	cost := func(topics int) time.Duration { // of 4000 channels
		least := time.Duration(math.MaxInt64)
		for range 3 {
			began := testkit.CPUTime(t)
			for range 4000 / topics {
				s := live.NewStore(live.Limits{}, nil)
				var feeds []*live.Feed
				for range topics {
					feeds = append(feeds, open(s, "/t"))
				}
				for i, f := range feeds {
					f.Close()
					if left := topics - 1 - i; left == topics/2 && len(s.Channels()) != left {
						t.Fatalf("%d channels are open, want %d", len(s.Channels()), left)
					}
				}
				if left := s.Channels(); len(left) != 0 {
					t.Fatalf("%d channels are left", len(left))
				}
			}
			least = min(least, testkit.CPUTime(t)-began)
		}
		return least
	}
	few, many := cost(100), cost(4000)
	t.Logf("in stores of 100: %v, in one of 4000: %v", few, many)
	if many > 10*few {
		t.Errorf("4000 channels of one store end in %v, of stores with 100 in %v", many, few)
	}
}

// TestSizeClasses: a larger size never has a lower class, and sizes in one class differ by less than a quarter.
func TestSizeClasses(t *testing.T) {
	t.Parallel()
	sizes := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 127, 128, 159, 160, math.MaxInt64 - 1, math.MaxInt64}
	for bits := range 62 {
		for quarters := range int64(8) {
			sizes = append(sizes, 1<<bits, 1<<bits+(1<<bits)*quarters/8)
		}
	}
	slices.Sort(sizes)
	for i, large := range sizes {
		for _, small := range sizes[:i] {
			switch c, d := live.ClassOf(small), live.ClassOf(large); {
			case c > d || c < 0 || d >= live.Classes:
				t.Fatalf("class of %d is %d, of %d it is %d", small, c, large, d)
			case c == d && large-small > small/4:
				t.Fatalf("%d and %d are in class %d", small, large, c)
			}
		}
	}
}
