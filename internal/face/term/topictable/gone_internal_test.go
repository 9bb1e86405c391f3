package topictable

import (
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/lastminute"
	"github.com/gorosbag/gorosbag/internal/face/term"
)

// TestTopicsThatAreGone: a topic of which there are no samples any more takes no memory. Its samples stay as long as
// they count.
func TestTopicsThatAreGone(t *testing.T) {
	t.Parallel()
	var r Rates
	var k Sparks
	var left []int // samples after which r, then k, have one topic
	for sample := range 2 * lastminute.Seconds * int(time.Second/term.Refresh) {
		at := time.Duration(sample) * term.Refresh
		r.Next(at)
		topics := []string{"/stays", "/gone"}
		if sample > 0 {
			topics = topics[:1]
		}
		begins := k.Begin(at + time.Second)
		for _, topic := range topics {
			r.Set(topic, Amount{uint64(sample), 0})
			if begins {
				k.Set(topic, 1)
			}
		}
		if len(left) == 0 && len(r.topics) == 1 || len(left) == 1 && len(k.topics) == 1 {
			left = append(left, sample)
		}
	}
	if want := []int{window + 1, (lastminute.Seconds + 1) * int(time.Second/term.Refresh)}; !slices.Equal(left, want) {
		t.Errorf("forgotten after %v samples, want %v", left, want)
	}
	if hz, _ := r.Of("/stays"); hz == 0 {
		t.Error("the topic that stays has no rate")
	}
}

// TestTopicThatComesBack: the counters of a topic that comes back begin at zero. It has no rate until the samples from
// before are out of the window.
func TestTopicThatComesBack(t *testing.T) {
	t.Parallel()
	var r Rates
	for sample := range 2 * window {
		n := uint64(100)
		if sample > 0 {
			n = uint64(sample)
		}
		r.Next(time.Duration(sample) * term.Refresh)
		r.Set("/back", Amount{n, n})
		hz, bytes := r.Of("/back")
		if fresh := sample >= window; hz != bytes || hz < 0 || hz > 100 || fresh != (hz > 0) {
			t.Fatalf("after %d samples: %v messages and %v bytes each second", sample, hz, bytes)
		}
	}
}
