package topictable

import (
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/lastminute"
	"github.com/gorosbag/gorosbag/internal/term"
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
