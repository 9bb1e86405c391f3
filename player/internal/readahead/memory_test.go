package readahead

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/timeline"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Memory is used again where its size fits, the latest first, within bounds, and while something is read.
func TestMemory(t *testing.T) {
	t.Parallel()
	m := new(Memory)
	take := func(n, want int) {
		t.Helper()
		if b := m.Take(n); cap(b) != want {
			t.Errorf("%d bytes for %d, want %d", cap(b), n, want)
		}
	}
	take(minReused, 0)
	for _, n := range []int{4 * minReused, minReused, 2 * minReused, minReused - 1} {
		m.Put(make([]byte, n))
	}
	take(minReused-1, minReused) // the fourth is too small to be kept
	take(4*minReused+1, 0)
	take(minReused, 2*minReused)
	take(minReused, 0) // four times as much is left
	take(3*minReused, 4*minReused)
	take(1, 0)
	const large = maxFreeBytes / 4
	m.Put(make([]byte, large+1))
	take(large, 0)
	for i := range 6 {
		m.Put(make([]byte, large-i))
	}
	for _, i := range []int{5, 4, 3, 2} {
		take(large-5, large-i)
	}
	take(large-5, 0) // the oldest ones were forgotten
	m.Put(make([]byte, minReused))
	m.close()
	m.Put(make([]byte, minReused))
	take(minReused, 0)
	m.open()
	m.Put(make([]byte, minReused))
	take(minReused, minReused)
}

// The memory of a chunk comes behind all messages in it, once; messages that were latched lie elsewhere. In
// the order of headers there is none: messages are kept there.
func TestMemoryFollowsItsMessages(t *testing.T) {
	t.Parallel()
	latched := testplay.Conn{Topic: "/l", CallerID: "/n", Latching: true}
	var messages []testplay.Message
	for i := range 30 {
		c := testplay.ConnA
		if i%10 == 5 {
			c = latched
		}
		text := fmt.Sprint(i, strings.Repeat("x", 100))
		messages = append(messages, testplay.Message{Conn: c, At: time.Duration(i) * milli, Text: text})
	}
	for name, o := range map[string]struct {
		compression rosbag.Compression
		cache       *bagfmt.Cache
		reach       time.Duration
		loop, shift bool
		want        bool
	}{
		"none":            {compression: rosbag.CompressionNone, want: true},
		"lz4":             {compression: rosbag.CompressionLZ4, want: true},
		"bz2":             {compression: rosbag.CompressionBZ2, want: true},
		"bz2 in a cache":  {compression: rosbag.CompressionBZ2, cache: bagfmt.NewCache(1<<20, 1<<20)},
		"a loop":          {compression: rosbag.CompressionLZ4, loop: true, want: true},
		"shifted stamps":  {compression: rosbag.CompressionLZ4, loop: true, shift: true, want: true},
		"order of stamps": {compression: rosbag.CompressionNone, reach: 3 * milli},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			how := bagfmt.WriterOptions{ChunkBytes: 1000, Compression: o.compression}
			file := bytes.NewReader(testplay.MakeBag(t, how, messages...))
			bag := testplay.Open(t, "bag", file, file.Size(), bagfmt.ReaderOptions{Cache: o.cache})
			bags := []*source.Recording{bag}
			p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, bags, testplay.Resolve)
			if err != nil {
				t.Fatal(err)
			}
			r := New(p, timeline.New(timeline.Options{Workers: 2, Reach: o.reach}, p))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				r.Run(ctx)
			}()
			defer func() { cancel(); <-done }()
			r.Begin(transport.ReadRequest{Loop: transport.Loop{On: o.loop, To: transport.Forever, Shift: o.shift}})
			var kept []Item // latched
			count, memories := 0, 0
			for count < 2*len(messages) {
				it, ok := popOne(t.Context(), r.Queue)
				switch {
				case !ok:
					count = 2 * len(messages)
				case it.Memory():
					memories++
					if it.Frame[0] == 0xdb {
						t.Error("the same memory again")
					}
					for i := range it.Frame {
						it.Frame[i] = 0xdb
					}
				case it.Jump == nil:
					if want := messages[count%len(messages)].Text; string(it.Frame[8:]) != want {
						t.Fatalf("message %d is %q", count, it.Frame)
					}
					if it.Route.Publisher.Latching {
						kept = append(kept, it)
					}
					count++
				}
			}
			if o.want != (memories > 0) {
				t.Errorf("%d memories", memories)
			}
			for _, it := range kept {
				if !strings.HasSuffix(string(it.Frame), "xxx") {
					t.Errorf("a latched message became %q", it.Frame)
				}
			}
		})
	}
}

// Memory costs nothing in the queue, whose bounds are about messages: it is queued only behind messages that keep
// it anyway, not where nothing of it is played, or copies are.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	for name, often := range map[string]testplay.Conn{
		"nothing is played": {Topic: "/not a name"},
		"copies are played": {Topic: "/l", CallerID: "/n", Latching: true},
	} {
		messages := testplay.Series(testplay.ConnA, "first", 0)
		for i := range 50 {
			at, large := time.Duration(i)*milli, strings.Repeat("x", 2000)
			messages = append(messages, testplay.Message{Conn: testplay.Conn{Topic: "/not a name"}, At: at, Text: large},
				testplay.Message{Conn: often, At: at, Text: "often"})
		}
		messages = append(messages, testplay.Series(testplay.ConnA, "last", 60*milli, 61*milli)...)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, text := range textsAndMemory(t, testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 5000}, messages...)) {
				if text != "often" {
					got = append(got, text)
				}
			}
			if want := []string{"first0", "last0", "last1"}; !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// textsAndMemory returns the texts of all items that are queued of a bag.
func textsAndMemory(t *testing.T, data []byte) (all []string) {
	t.Helper()
	p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, testplay.OpenBags(t, data), testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	r := New(p, timeline.New(timeline.Options{}, p))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	defer func() { cancel(); <-done }()
	r.Begin(transport.ReadRequest{Loop: transport.Loop{To: transport.Forever}})
	for it, ok := popOne(t.Context(), r.Queue); ok; it, ok = popOne(t.Context(), r.Queue) {
		if it.Memory() {
			all = append(all, "memory")
		} else {
			all = append(all, string(it.Frame[8:]))
		}
	}
	return all
}
