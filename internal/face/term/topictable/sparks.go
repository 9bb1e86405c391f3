package topictable

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/lastminute"
	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
)

// Sparks holds the rates of the last minute of each topic.
type Sparks struct {
	next   int64 // the first second without rates
	topics map[string]*lastminute.Rates
}

// Begin reports whether a second is complete that has no rates yet. The caller then sets the rate
// of each topic. Topics whose rates were not set for a minute are forgotten.
func (k *Sparks) Begin(at time.Duration) bool {
	seconds := int64(at / time.Second)
	if seconds <= k.next {
		return false
	}
	maps.DeleteFunc(k.topics, func(_ string, r *lastminute.Rates) bool { return r.Over(k.next) })
	k.next = seconds
	return true
}

// Set adds the rate of a topic.
func (k *Sparks) Set(topic string, hz float64) {
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

// SparkWidth is the width of a curve in columns. A column stands for five seconds.
const SparkWidth = 12

// Draw draws the last minute of a topic, with now at the right.
func (k *Sparks) Draw(p termtext.Pen, topic string) string {
	r := k.topics[topic]
	if r == nil {
		return ""
	}
	blocks := p.Heights()
	blocks = blocks[:len(blocks)-1] // full ones would touch those of the row above
	means := r.Means(SparkWidth)
	top := max(slices.Max(means), math.SmallestNonzeroFloat64)
	b := strings.Builder{}
	for _, hz := range means {
		b.WriteString(blocks[int(math.Ceil(hz/top*float64(len(blocks)-1)))])
	}
	return b.String()
}
