package account

import (
	"math"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestRateIsExact: at ten a second a message is due a tenth after the one before, and not
// a nanosecond earlier. One that is late gives the topic one message of credit, no more.
func TestRateIsExact(t *testing.T) {
	t.Parallel()
	const gap = 100 * time.Millisecond
	s := SamplerOf([]Limit{{Topics: "/a", MaxRate: 10}}, "/a")
	start := time.Now()
	for i, c := range []struct {
		at   time.Duration
		want bool
	}{
		{0, true},
		{0, true}, // the credit of a topic that begins
		{0, false},
		{gap - 1, false},
		{gap, true},
		{2*gap - 1, false},
		{2*gap + gap/2, true}, // half a gap late
		{3*gap - 1, false},    // the next is due
		{3 * gap, true},       // as if that had not been late
		{10 * gap, true},      // many gaps late
		{10*gap + 1, true},    // the credit
		{11*gap - 1, false},   // but of one
		{11*gap + 1, true},
	} {
		if got := s.Keep(start.Add(c.at)); got != c.want {
			t.Errorf("message %d after %v: recorded %v, want %v", i, c.at, got, c.want)
		}
	}
	if s.leftOut != 5 || s.seen != 13 {
		t.Errorf("%d of %d left out, want 5 of 13", s.leftOut, s.seen)
	}
}

// TestEveryNth: the first, and each Nth after that; each first one is no limit.
func TestEveryNth(t *testing.T) {
	t.Parallel()
	for every, want := range map[int]string{1: "xxxxxxx", 2: "x.x.x.x", 3: "x..x..x"} {
		s := SamplerOf([]Limit{{Topics: "/a", Every: every}}, "/a")
		if s.KeepsAll() != (every == 1) {
			t.Errorf("each %d: all are kept: %v", every, s.KeepsAll())
		}
		got := ""
		for range 7 {
			if s.Keep(time.Now()) {
				got += "x"
			} else {
				got += "."
			}
		}
		if got != want {
			t.Errorf("each %d: %s, want %s", every, got, want)
		}
	}
}

// TestLimitsOfATopic: of several limits of one kind, the last that names the topic holds. A topic
// whose limit is only a number of messages is not thinned.
func TestLimitsOfATopic(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits   []Limit
		limit    uint64
		keepsAll bool
	}{
		"none":              {nil, 0, true},
		"number":            {[]Limit{{Topics: "/a", Count: 3}}, 3, true},
		"last number":       {[]Limit{{Topics: "/a", Count: 3}, {Topics: "/**", Count: 1}}, 1, true},
		"other topic":       {[]Limit{{Topics: "/a", Count: 3}, {Topics: "/b", Count: 1}}, 3, true},
		"other topic first": {[]Limit{{Topics: "/b", Count: 1}, {Topics: "/a", Count: 3}}, 3, true},
		"number and rate":   {[]Limit{{Topics: "/a", Count: 3}, {Topics: "/a", MaxRate: 5}}, 3, false},
		"number and second": {[]Limit{{Topics: "/a", Count: 3}, {Topics: "/a", Every: 2}}, 3, false},
		"each":              {[]Limit{{Topics: "/a", Every: 1}}, 0, true},
	} {
		if s := SamplerOf(c.limits, "/a"); s.limit != c.limit || s.KeepsAll() != c.keepsAll {
			t.Errorf("%s: at most %d messages, all kept %v; want %d, %v", name, s.limit, s.KeepsAll(), c.limit, c.keepsAll)
		}
	}
}

// TestLimitThatMeansNothing: a limit without a topic, or with a number that no messages can have, is an error.
func TestLimitThatMeansNothing(t *testing.T) {
	t.Parallel()
	for _, l := range []Limit{
		{Topics: "/a"}, {Topics: "/a", MaxRate: 1e9, Every: 1, Count: 1}, {Topics: "/a", MaxRate: 1e-9},
	} {
		if err := l.Check(); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
	for _, l := range []Limit{
		{MaxRate: 1, Every: 1, Count: 1},
		{Topics: "/a", MaxRate: -1},
		{Topics: "/a", MaxRate: math.NaN()},
		{Topics: "/a", MaxRate: math.Inf(1)},
		{Topics: "/a", MaxRate: 1e9 + 1},
		{Topics: "/a", Every: -1},
		{Topics: "/a", Count: -1},
	} {
		if l.Check() == nil {
			t.Errorf("%+v is no error", l)
		}
	}
}

// TestMessagesInAPause: messages that come while nothing is recorded are counted until the topic has as many as
// its limit says. The latest one of a publisher that latches is missing in the bag.
func TestMessagesInAPause(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ limit, recorded, passed uint64 }{{0, 0, 3}, {0, 9, 3}, {5, 4, 3}, {5, 5, 0}, {5, 6, 0}} {
		of := &Topic{recorded: Tally{Messages: c.recorded}, sampler: Sampler{limit: c.limit}}
		for _, latching := range []bool{true, false} {
			of.passed = 0
			conn := &Connection{topic: of, source: latch.NewSource(testlink.Connection(), 0)}
			latched := latch.New(memory.New(memory.Options{Limit: -1}), false, nil)
			latched.Connected(&conn.source, latching)
			latched.Remember(&conn.source, []byte("x"))
			conn.NoteUnrecorded(1)
			conn.NoteUnrecorded(2)
			_, missed := latched.AtFile([]*latch.Source{&conn.source}, false)
			if of.passed != c.passed || (len(missed) > 0) != (latching && c.passed > 0) {
				t.Errorf("limit %d, %d recorded: %d passed, want %d; missed %v", c.limit, c.recorded, of.passed, c.passed, len(missed) > 0)
			}
		}
	}
}
