package recorder

import (
	"math"
	"testing"
	"time"
)

// TestRateIsExact: at ten a second a message is due a tenth after the one before, and not
// a nanosecond earlier. One that is late gives the topic one message of credit, no more.
func TestRateIsExact(t *testing.T) {
	t.Parallel()
	const gap = 100 * time.Millisecond
	s := samplerOf([]topicLimit{{Topics: "/a", MaxRate: 10}}, "/a")
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
		if got := s.keep(start.Add(c.at)); got != c.want {
			t.Errorf("message %d after %v: recorded %v, want %v", i, c.at, got, c.want)
		}
	}
	if s.skipped != 5 || s.seen != 13 {
		t.Errorf("%d of %d skipped, want 5 of 13", s.skipped, s.seen)
	}
}

// TestEveryNth: the first, and each Nth after that; each first one is no limit.
func TestEveryNth(t *testing.T) {
	t.Parallel()
	for every, want := range map[int]string{1: "xxxxxxx", 2: "x.x.x.x", 3: "x..x..x"} {
		s := samplerOf([]topicLimit{{Topics: "/a", Every: every}}, "/a")
		if s.thin != (every > 1) {
			t.Errorf("each %d: messages are looked at: %v", every, s.thin)
		}
		got := ""
		for range 7 {
			if s.keep(time.Now()) {
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

// TestLimitsThatMakeNoSense are refused.
func TestLimitsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit Limit
		ok    bool
	}{
		"no limit at all":   {Limit{Topics: "/a"}, true},
		"highest rate":      {Limit{Topics: "/a", MaxRate: 1e9}, true},
		"rate above":        {Limit{Topics: "/a", MaxRate: 1e9 + 1}, false},
		"negative rate":     {Limit{Topics: "/a", MaxRate: -0.1}, false},
		"rate is no number": {Limit{Topics: "/a", MaxRate: math.NaN()}, false},
		"each one":          {Limit{Topics: "/a", Every: 1}, true},
		"each minus first":  {Limit{Topics: "/a", Every: -1}, false},
		"one":               {Limit{Topics: "/a", Count: 1}, true},
		"minus one":         {Limit{Topics: "/a", Count: -1}, false},
		"topics of no name": {Limit{Count: 1}, false},
	} {
		if err := c.limit.check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhichTopicsALimitMeans: a name that is not absolute means the end of names, and the
// limit of all topics holds for each that has none of its own.
func TestWhichTopicsALimitMeans(t *testing.T) {
	t.Parallel()
	limits := (&Options{Limit: 7, Limits: []Limit{{Topics: "image", Count: 3}, {Topics: "/scan", MaxRate: 2}}}).limits()
	for topic, want := range map[string]sampler{
		"/cam/image": {limit: 3},
		"/image":     {limit: 3},
		"/scan":      {limit: 7, thin: true, gap: time.Second / 2},
		"/cam/scan":  {limit: 7},
		"/other":     {limit: 7},
	} {
		if got := samplerOf(limits, topic); got != want {
			t.Errorf("%s: %+v, want %+v", topic, got, want)
		}
	}
}
