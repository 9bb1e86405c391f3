package finding

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
)

// Range is the expected rate of a topic in Hz. With Least 0 the topic only has to appear.
type Range struct{ Least, Most float64 }

// mostHz bounds rates that can be expected.
const mostHz = 1e6

// Tolerance is the share by which a rate may miss a bound: a driver that is set to 100 Hz publishes at
// 99.7 Hz, and a window of ten seconds begins and ends between two messages.
const Tolerance = 0.05

var errRange = errors.New("want TOPIC=HZ with the least rate, such as 100, or the least and the highest one, such as 10..40; 0 means that the topic only has to appear")

// ParseRange reads the least rate, or the least and the highest one with two dots between them.
func ParseRange(text string) (Range, error) {
	least, most, two := strings.Cut(text, "..")
	r := Range{Most: math.Inf(1)}
	var err error
	if r.Least, err = strconv.ParseFloat(strings.TrimSpace(least), 64); err != nil {
		return r, errRange
	}
	if two {
		if r.Most, err = strconv.ParseFloat(strings.TrimSpace(most), 64); err != nil || !(r.Most <= mostHz) {
			return r, errRange
		}
	}
	if !(r.Least >= 0 && r.Least <= mostHz) || r.Most < r.Least || r.Most == 0 {
		return r, errRange
	}
	return r, nil
}

// String returns the range as ParseRange reads it.
func (r Range) String() string {
	text := strconv.FormatFloat(r.Least, 'f', -1, 64)
	if !math.IsInf(r.Most, 1) {
		text += ".." + strconv.FormatFloat(r.Most, 'f', -1, 64)
	}
	return text
}

// Expectation is the rate that is expected of a topic, or of each topic that a glob matches.
type Expectation struct {
	Topics string // a resolved name or a glob
	Range
	pattern *topicmatch.Pattern // nil for a name
	inBag   []string            // other names, in the bag, of topics that the glob matches in the graph
}

// Expect reads TOPIC=HZ.
func Expect(text string) (Expectation, error) {
	topics, hz, ok := strings.Cut(text, "=")
	if !ok {
		return Expectation{}, errRange
	}
	if err := topicmatch.CheckGlob(topics); err != nil {
		return Expectation{}, err
	}
	r, err := ParseRange(hz)
	if err != nil {
		return Expectation{}, fmt.Errorf("%q: %w", hz, err)
	}
	return NewExpectation(topics, r), nil
}

// NewExpectation returns the expectation of a range for a name or a glob. inBag are names in the bag of
// topics that the glob matches in the graph, where these differ.
func NewExpectation(topics string, r Range, inBag ...string) Expectation {
	e := Expectation{Topics: topics, Range: r, inBag: inBag}
	if topicmatch.IsGlob(topics) {
		e.pattern = topicmatch.Glob(topics)
	}
	return e
}

// String returns the expectation as Expect reads it.
func (e Expectation) String() string { return e.Topics + "=" + e.Range.String() }

// Matches reports whether the expectation is about a topic.
func (e *Expectation) Matches(topic string) bool {
	return e.Topics == topic || e.pattern != nil &&
		(e.pattern.Match(topic) || slices.Contains(e.inBag, topic))
}

// expected returns the last expectation about a topic: an exact name wins over globs.
func expected(all []Expectation, topic string) *Expectation {
	var found *Expectation
	for i := range all {
		if e := &all[i]; e.Matches(topic) && (found == nil || e.pattern == nil || found.pattern != nil) {
			found = e
		}
	}
	return found
}

// Expected returns what is expected of a topic, and whether anything is. An exact name wins over globs.
func Expected(all []Expectation, topic string) (Range, bool) {
	if e := expected(all, topic); e != nil {
		return e.Range, true
	}
	return Range{}, false
}

// Wrong says how a rate misses the range; empty if the rate is within.
func (r Range) Wrong(hz float64) string {
	switch {
	case hz < r.Least*(1-Tolerance):
		return "slow"
	case hz > r.Most*(1+Tolerance):
		return "too fast"
	}
	return ""
}

// patience returns how long a topic with an expected rate may have no message.
func (r Range) patience(step time.Duration) time.Duration { return patience(1/r.Least, step) }
