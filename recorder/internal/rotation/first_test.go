package rotation

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestFirst: no message of a file gets a time before the first chunk, unless the clock was set back.
func TestFirst(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	at := func(d time.Duration) rosbag.Time { return rosbag.TimeOf(now.Add(d)) }
	r := New(Options{Split: true}, now, 0)
	if !r.BeginsBag() || r.Stamp(at(-5), now, false) != at(-5) {
		t.Error("there is a first chunk before any")
	}
	r.ChunkQueued(0, at(0), now.Add(100))
	r.ChunkQueued(0, at(-100), now.Add(200)) // a later chunk
	for name, tt := range map[string]struct{ stamp, received, want time.Duration }{
		"later":                    {10, 200, 10},
		"the same":                 {0, 200, 0},
		"it waited for the lock":   {-5, 100, 0},
		"the clock was set back":   {-5, 101, -5},
		"before, and not too soon": {5, 50, 5},
	} {
		if got := r.Stamp(at(tt.stamp), now.Add(tt.received), false); got != at(tt.want) {
			t.Errorf("%s: %v, want %v", name, got, at(tt.want))
		}
	}
	if got := r.Stamp(at(-5), now, true); got != at(-5) {
		t.Errorf("of a simulation: %v", got)
	}
	if r.BeginsBag() {
		t.Error("the first chunk is awaited when it is there")
	}
	r.SnapshotBegan()
	if !r.BeginsBag() {
		t.Error("a snapshot begins with any chunk")
	}
	r.ChunkQueued(0, at(300), now.Add(300))
	if got := r.Stamp(at(-5), now, false); r.BeginsBag() || got != at(0) {
		t.Errorf("the first chunk of a snapshot is that of the file, which begins at %v", got)
	}
	if r.Advance(now.Add(time.Second)); !r.BeginsBag() || r.first.there {
		t.Error("the next file has a first chunk")
	}
}

// TestBackdate: a message is dated back by a minute at most, and not to before the recording, the file or its first chunk.
func TestBackdate(t *testing.T) {
	t.Parallel()
	begun := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		since, first, to, want time.Duration // since begun; first is zero for none
	}{
		"a little":               {0, 0, 90 * time.Second, 90 * time.Second},
		"a minute":               {0, 0, 10 * time.Second, 40 * time.Second},
		"to before the file":     {0, 0, -time.Hour, 40 * time.Second},
		"to before a start":      {50 * time.Second, 0, 10 * time.Second, 50 * time.Second},
		"into the future":        {0, 0, time.Hour, 100 * time.Second},
		"a little after them":    {0, 20 * time.Second, 90 * time.Second, 90 * time.Second},
		"to before its messages": {0, 95 * time.Second, 90 * time.Second, 95 * time.Second},
	} {
		r := New(Options{}, begun, 0)
		if tt.first > 0 {
			r.ChunkQueued(0, rosbag.TimeOf(begun.Add(tt.first)), begun.Add(tt.first))
		}
		now := begun.Add(100 * time.Second)
		if got := r.Backdate(now, begun.Add(tt.to), begun.Add(tt.since)); !got.Equal(begun.Add(tt.want)) {
			t.Errorf("%s: %v, want %v", name, got, begun.Add(tt.want))
		}
	}
}
