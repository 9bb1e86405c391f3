package account

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
)

func TestShare(t *testing.T) {
	t.Parallel()
	start := time.Now()
	tests := map[string]struct {
		limits []Limit
		topic  string
		hz     int // of ten seconds of messages
		want   int
	}{
		"none":          {nil, "/a", 100, 1000},
		"rate":          {[]Limit{{Topics: "/a", MaxRate: 10}}, "/a", 100, 100},
		"uneven rate":   {[]Limit{{Topics: "/a", MaxRate: 10}}, "/a", 33, 100},
		"slower":        {[]Limit{{Topics: "/a", MaxRate: 10}}, "/a", 7, 70},
		"every":         {[]Limit{{Topics: "/a", Every: 3}}, "/a", 30, 100},
		"other topic":   {[]Limit{{Topics: "/b", Every: 3}}, "/a", 30, 300},
		"glob":          {[]Limit{{Topics: "/*/image", MaxRate: 1}}, "/cam/image", 30, 10},
		"whole name":    {[]Limit{{Topics: "/image", MaxRate: 1}}, "/cam/image", 30, 300},
		"end of names":  {[]Limit{{Topics: "image", MaxRate: 1}}, "/cam/image", 30, 10},
		"last one wins": {[]Limit{{Topics: "/**", MaxRate: 1}, {Topics: "/a", MaxRate: 5}}, "/a", 30, 50},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := SamplerOf(tc.limits, topicname.InGraph(tc.topic))
			kept := 0
			for i := range 10 * tc.hz {
				if s.Keep(start.Add(time.Duration(i) * time.Second / time.Duration(tc.hz))) {
					kept++
				}
			}
			if kept < tc.want-1 || kept > tc.want+1 || kept+int(s.leftOut) != 10*tc.hz {
				t.Errorf("%d kept, %d left out, want %d", kept, s.leftOut, tc.want)
			}
		})
	}
}

// TestShareWithoutBursts: after a pause a topic does not make up for it.
func TestShareWithoutBursts(t *testing.T) {
	t.Parallel()
	s := SamplerOf([]Limit{{Topics: "/a", MaxRate: 10}}, "/a")
	now := time.Now()
	s.Keep(now)
	kept := 0
	for i := range 100 { // within 100 ms, a minute later
		if s.Keep(now.Add(time.Minute + time.Duration(i)*time.Millisecond)) {
			kept++
		}
	}
	if kept > 2 {
		t.Errorf("%d messages within 100 ms at 10 Hz", kept)
	}
}

// TestJitterCostsNothing: a topic that has the rate of its limit is recorded in full, although its messages come
// a little too early or too late.
func TestJitterCostsNothing(t *testing.T) {
	t.Parallel()
	s := SamplerOf([]Limit{{Topics: "/a", MaxRate: 10}}, "/a")
	start := time.Now()
	for i := range 100 {
		at := time.Duration(100*i+[]int{0, 5, -5}[i%3]) * time.Millisecond
		if !s.Keep(start.Add(at)) {
			t.Errorf("message %d, at %v, is left out", i, at)
		}
	}
}

// TestWhichMessagesAreKept: of two limits of different kinds both hold. A rate lets one
// message through for each of its intervals, and one more after a pause, however long; a
// step back of the clock matters to nothing else.
func TestWhichMessagesAreKept(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for name, c := range map[string]struct {
		limits []Limit
		at     []int // milliseconds
		want   string
	}{
		"rate":            {[]Limit{{Topics: "/a", MaxRate: 10}}, []int{0, 99, 100, 101, 199, 200, 250, 301, 399, 401}, "+++--+-+-+"},
		"after a pause":   {[]Limit{{Topics: "/a", MaxRate: 10}}, []int{0, 100, 1000, 1001, 1002, 1101, 1150}, "++++-+-"},
		"just in time":    {[]Limit{{Topics: "/a", MaxRate: 10}}, []int{0, 100, 101, 102, 200}, "+++-+"},
		"each second":     {[]Limit{{Topics: "/a", Every: 2}}, []int{0, 1, 2, 3, 1, 0, 2}, "+-+-+-+"},
		"each":            {[]Limit{{Topics: "/a", Every: 1}}, []int{3, 2, 1, 0}, "++++"},
		"both":            {[]Limit{{Topics: "/a", Every: 2}, {Topics: "/*", MaxRate: 10}}, []int{0, 100, 150, 200, 260, 300}, "+-+-+-"},
		"and in reverse":  {[]Limit{{Topics: "/a", MaxRate: 10}, {Topics: "/*", Every: 2}}, []int{0, 100, 150, 200, 260, 300}, "+-+-+-"},
		"and with a last": {[]Limit{{Topics: "/a", Every: 2}, {Topics: "/*", Count: 3}}, []int{0, 1, 2, 3}, "+-+-"},
	} {
		s := SamplerOf(c.limits, "/a")
		got := ""
		for _, ms := range c.at {
			got += map[bool]string{true: "+", false: "-"}[s.Keep(start.Add(time.Duration(ms)*time.Millisecond))]
		}
		if got != c.want {
			t.Errorf("%s: at %v %s, want %s", name, c.at, got, c.want)
		}
	}
}
