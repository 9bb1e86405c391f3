package screen

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/lastminute"
)

// sparks holds the rates of the last minute of each topic.
type sparks struct {
	next   int64 // the first second without rates
	topics map[string]*lastminute.Rates
}

// begin reports whether a second is complete that has no rates yet, and then expects those of
// each topic.
func (k *sparks) begin(at time.Duration) bool {
	seconds := int64(at / time.Second)
	if seconds <= k.next {
		return false
	}
	k.next = seconds
	return true
}

// set adds the rate of a topic.
func (k *sparks) set(topic string, hz float64) {
	r := k.topics[topic]
	if r == nil {
		if k.topics == nil {
			k.topics = map[string]*lastminute.Rates{}
		}
		r = new(lastminute.Rates)
		k.topics[topic] = r
	}
	r.Add(k.next-1, hz)
}

// sparkWidth is how many columns a curve has: one for five seconds.
const sparkWidth = 12

// draw draws the last minute of a topic, with now at the right.
func (k *sparks) draw(p pen, topic string) string {
	r := k.topics[topic]
	if r == nil {
		return ""
	}
	blocks := p.heights()
	blocks = blocks[:len(blocks)-1] // full ones would touch those of the row above
	means := r.Means(sparkWidth)
	top := max(slices.Max(means), math.SmallestNonzeroFloat64)
	b := strings.Builder{}
	for _, hz := range means {
		b.WriteString(blocks[int(math.Ceil(hz/top*float64(len(blocks)-1)))])
	}
	return b.String()
}
