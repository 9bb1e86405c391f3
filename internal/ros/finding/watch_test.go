package finding_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
)

// source says when the messages of one topic come, in seconds since the beginning.
type source struct {
	topic  string
	times  []float64
	links  func(at float64) (links int, broken bool) // nil for one link at all times
	stamp  func(at float64) float64                  // stamp of a message that comes at a time; nil for none
	large  func(at float64) float64                  // seconds from the announcement of a message until it is there; nil for none
	latch  bool
	held   func(at float64) bool
	opened func(at float64) int // links that were opened; nil for one
	absent float64              // seconds before there is an account
}

// every returns times from from until to.
func every(period, from, to float64) (all []float64) {
	for n := 0; from+float64(n)*period < to; n++ {
		all = append(all, from+float64(n)*period)
	}
	return all
}

// clock is what the watcher sees of time.
type clock struct {
	stopped func(at float64) bool    // the watcher does not run
	sim     func(at float64) float64 // the clock of the recording; nil for the wall clock
	expect  []string
}

// unset is the stamp of a message whose stamp is zero.
const unset = -1

var start = time.Unix(1_700_000_000, 123_000_000)

func seconds(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

// watch looks at topics for a time, and returns one line for each change, and the watch.
func watch(t *testing.T, length float64, c clock, sources ...source) ([]string, *finding.Watch) {
	t.Helper()
	var expect []finding.Expectation
	for _, text := range c.expect {
		e, err := finding.Expect(text)
		if err != nil {
			t.Fatal(err)
		}
		expect = append(expect, e)
	}
	w := finding.New(expect)
	var changes []string
	for at := 0.1; at < length; at += finding.Every.Seconds() {
		if c.stopped != nil && c.stopped(at) {
			continue
		}
		now := seconds(at)
		steady := now
		if c.sim != nil {
			steady = seconds(c.sim(at))
		}
		for _, change := range w.Look(now, steady, true, figures(at, sources)) {
			text := change.Line()
			if change.Over {
				text = fmt.Sprintf("%v %s over after %.0f s", change.Kind, change.Topic, change.For.Seconds())
			}
			changes = append(changes, fmt.Sprintf("%.0f: %s", at, text))
		}
	}
	return changes, w
}

// figures returns what a receiver knows of the topics at a time.
func figures(at float64, sources []source) (all []finding.Arrivals) {
	for i := range sources {
		s := &sources[i]
		if at < s.absent {
			continue
		}
		a := finding.Arrivals{Topic: s.topic, Links: 1, Latched: s.latch}
		n, found := slices.BinarySearch(s.times, at)
		if found {
			n++
		}
		if a.Messages = uint64(n); n > 0 {
			a.Last = seconds(s.times[n-1])
			came := func(n int) float64 {
				if s.large == nil {
					return s.times[n-1]
				}
				return s.times[n-1] + s.large(s.times[n-1])
			}
			for n > 0 && came(n) > at { // its stamp has not come yet
				n--
			}
			if n > 0 && s.stamp != nil && s.stamp(s.times[n-1]) != unset {
				a.Stamp, a.Stamped = seconds(s.stamp(s.times[n-1])).UnixNano(), seconds(came(n))
			}
		}
		if s.links != nil {
			a.Links, a.Broken = s.links(at)
		}
		if a.Opened = 1; s.opened != nil {
			a.Opened = s.opened(at)
		}
		a.Held = s.held != nil && s.held(at)
		all = append(all, a)
	}
	return all
}

func join(all ...[]float64) []float64 { return slices.Concat(all...) }

// poisson returns times of events that do not know of each other.
func poisson(hz, to float64) (all []float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for at := 0.0; ; {
		if at += r.ExpFloat64() / hz; at > to {
			return all
		}
		all = append(all, at)
	}
}

// bursts returns times of n messages that come together.
func bursts(n int, period, to float64) (all []float64) {
	for _, at := range every(period, 0, to) {
		all = append(all, every(0.001, at, at+0.001*float64(n)-1e-9)...)
	}
	return all
}

// unevenly is the clock of a simulation of three to thirteen times the speed.
func unevenly(at float64) float64 { return at*8 + 3*math.Sin(at) + 0.22*math.Sin(9*at) }

// uneven returns times of messages that are period apart on this clock.
func uneven(period, to float64) (all []float64) {
	at := 0.0
	for n := 0.0; at < to; n++ {
		for unevenly(at) < n*period {
			at += 0.0005
		}
		all = append(all, at)
	}
	return all
}

func jitter(times []float64, most float64) []float64 {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range times {
		times[i] += most * (r.Float64() - 0.5)
	}
	slices.Sort(times)
	return times
}

// TestFindings has tables of arrivals, and what is found about them.
func TestFindings(t *testing.T) {
	t.Parallel()
	behind := func(by float64) func(float64) float64 { return func(at float64) float64 { return at - by } }
	step := func(from, to, by float64) func(float64) float64 {
		return func(at float64) float64 {
			if at >= from && at < to {
				return at - by
			}
			return at - 0.01
		}
	}
	until := func(end float64, broken bool) func(float64) (int, bool) {
		return func(at float64) (int, bool) {
			if at < end {
				return 1, false
			}
			return 0, broken
		}
	}
	for name, tc := range map[string]struct {
		length float64
		clock
		sources []source
		want    []string
	}{
		"regular":        {60, clock{}, []source{{topic: "/a", times: every(0.01, 0, 60)}, {topic: "/b", times: every(1, 0, 60)}, {topic: "/c", times: jitter(every(0.1, 0, 60), 0.08)}}, nil},
		"publisher gone": {40, clock{}, []source{{topic: "/imu", times: every(0.01, 0, 20), links: until(20, false)}}, []string{"22: silent /imu: 2.1 s (publisher gone)"}},
		"link broken":    {40, clock{}, []source{{topic: "/imu", times: every(0.1, 0, 20), links: until(21, true)}}, []string{"22: silent /imu: 2.2 s (link broken)"}},
		"mute, and back": {
			60,
			clock{},
			[]source{{topic: "/imu", times: join(every(0.1, 0, 20), every(0.1, 30, 60))}},
			[]string{"22: silent /imu: 2.2 s (publisher there but mute)", "31: silent /imu over after 10 s"},
		},
		"back as another process": {60, clock{}, []source{{topic: "/imu", times: join(every(0.1, 0, 20), every(0.1, 30, 60)), links: func(at float64) (int, bool) {
			if at > 20 && at < 29 {
				return 0, false
			}
			return 1, false
		}}}, []string{"22: silent /imu: 2.2 s (publisher gone)", "31: silent /imu over after 10 s"}},
		"one message is not back": {40, clock{}, []source{{topic: "/imu", times: join(every(0.1, 0, 20), []float64{25, 30, 35})}}, []string{"22: silent /imu: 2.2 s (publisher there but mute)"}},
		"each 3 s":                {120, clock{}, []source{{topic: "/gps", times: every(3, 0, 60)}}, []string{"72: silent /gps: 15 s (publisher there but mute)"}},
		"rare, and back": {
			140,
			clock{},
			[]source{{topic: "/gps", times: join(every(3, 0, 60), every(3, 90, 140))}},
			[]string{"72: silent /gps: 15 s (publisher there but mute)", "90: silent /gps over after 33 s"},
		},
		"nine messages":          {60, clock{}, []source{{topic: "/a", times: every(1, 0, 9)}}, nil},
		"before 5 s":             {60, clock{}, []source{{topic: "/a", times: every(0.1, 0, 4.5)}}, nil},
		"latched":                {60, clock{}, []source{{topic: "/map", times: every(0.5, 0, 20), latch: true}}, nil},
		"rosout":                 {60, clock{}, []source{{topic: "/rosout", times: every(0.5, 0, 20)}}, nil},
		"events":                 {4000, clock{}, []source{{topic: "/events", times: poisson(0.5, 4000)}, {topic: "/rare", times: poisson(0.05, 4000)}, {topic: "/few", times: poisson(1, 300)}}, nil},
		"bursts":                 {300, clock{}, []source{{topic: "/scan", times: bursts(10, 1.9, 300)}, {topic: "/odd", times: bursts(40, 4, 300)}}, nil},
		"bursts end":             {60, clock{}, []source{{topic: "/scan", times: bursts(10, 1, 30)}}, []string{"32: silent /scan: 2.6 s (publisher there but mute)"}},
		"commands of a joystick": {200, clock{}, []source{{topic: "/cmd_vel", times: join(every(0.1, 10, 25), every(0.1, 40, 60), every(0.1, 90, 95))}}, nil},
		"falls silent again and again": {400, clock{}, []source{{topic: "/a", times: func() (all []float64) {
			for n := range 40 {
				all = append(all, every(0.1, float64(n)*10, float64(n)*10+6)...)
			}
			return all
		}()}}, []string{"8: silent /a: 2.2 s (publisher there but mute)", "11: silent /a over after 4 s"}},
		"back, and soon gone for good": {
			120,
			clock{},
			[]source{{topic: "/imu", times: join(every(0.02, 0, 60), every(0.02, 70, 74))}, {topic: "/gone", times: join(every(0.02, 0, 60), every(0.02, 70, 74)), links: func(at float64) (int, bool) {
				if at > 60 && at < 70 || at > 74 {
					return 0, false
				}
				return 1, false
			}}},
			[]string{
				"62: silent /imu: 2.1 s (publisher there but mute)", "62: silent /gone: 2.1 s (publisher gone)",
				"71: silent /imu over after 10 s", "71: silent /gone over after 10 s",
				"81: silent /gone: 7.1 s (publisher gone)", "96: silent /imu: 22 s (publisher there but mute)",
			},
		},
		"slow": {
			60,
			clock{},
			[]source{{topic: "/cam", times: join(every(1./30, 0, 20), every(1./13, 20, 40), every(1./30, 40, 60))}},
			[]string{"28: slow /cam: 16.2 Hz, usual 30", "41: slow /cam over after 20 s"},
		},
		"half the rate": {60, clock{}, []source{{topic: "/cam", times: join(every(1./30, 0, 20), every(1./15, 20, 60))}}, []string{"29: slow /cam: 16.3 Hz, usual 30"}},
		"two thirds":    {120, clock{}, []source{{topic: "/cam", times: join(every(1./30, 0, 20), every(1./20, 20, 120))}}, nil},
		"slow after a restart": {80, clock{}, []source{{topic: "/cam", times: join(every(1./30, 0, 20), every(1./10, 30, 80)), links: func(at float64) (int, bool) {
			if at > 20 && at < 30 {
				return 0, false
			}
			return 1, false
		}}}, []string{"22: silent /cam: 2.1 s (publisher gone)", "31: silent /cam over after 10 s", "41: slow /cam: 10 Hz, usual 30"}},
		"slow and then silent": {
			60,
			clock{},
			[]source{{topic: "/cam", times: join(every(1./30, 0, 20), every(1./10, 20, 40))}},
			[]string{"27: slow /cam: 16.3 Hz, usual 30", "42: silent /cam: 2.2 s (publisher there but mute)", "42: slow /cam over after 22 s"},
		},
		"slow, back, and soon gone": {
			80,
			clock{},
			[]source{{topic: "/imu", times: join(every(0.02, 0, 20), every(0.05, 20, 34), every(0.02, 34, 40), every(0.02, 61, 80)), links: until(40, false)}},
			[]string{"28: slow /imu: 27.2 Hz, usual 50", "35: slow /imu over after 15 s", "47: silent /imu: 7.1 s (publisher gone)", "62: silent /imu over after 21 s"},
		},
		"drifts": {600, clock{}, []source{{topic: "/a", times: func() (all []float64) {
			for at := 0.0; at < 600; at += 0.05 + 0.05*at/600 {
				all = append(all, at)
			}
			return all
		}()}}, nil},
		"visitors, one after the other": {
			100,
			clock{},
			[]source{{
				topic: "/regular", times: join(every(0.1, 0, 20), every(0.3, 20, 40), every(0.1, 40, 60), every(0.5, 60, 80)),
				opened: func(at float64) int { return 1 + int(at)/2 }, links: func(at float64) (int, bool) { return min(1, int(at*4)%8), false },
			}},
			nil,
		},
		"a second publisher joins and leaves": {
			60,
			clock{},
			[]source{{
				topic: "/tf", times: every(0.1, 0, 30),
				opened: func(at float64) int { return 1 + min(1, int(at)/10) }, links: func(at float64) (int, bool) { return 1 + min(1, int(at)/10) - min(1, int(at)/20), false },
			}},
			[]string{"32: silent /tf: 2.2 s (publisher there but mute)"},
		},
		"a driver that is started again at once": {
			100,
			clock{},
			[]source{{topic: "/cam", times: join(every(0.1, 0, 20), every(0.1, 21, 50)), opened: func(at float64) int { return 1 + min(1, int(at)/21) }, links: func(at float64) (int, bool) {
				if at > 20 && at < 21 || at > 50 {
					return 0, false
				}
				return 1, false
			}}},
			[]string{"52: silent /cam: 2.2 s (publisher gone)"},
		},
		"an hour behind": {30, clock{}, []source{{topic: "/gps", times: every(0.1, 0, 30), stamp: behind(3600)}}, []string{"2: stamps off /gps: 1 h behind"}},
		"in the future":  {30, clock{}, []source{{topic: "/gps", times: every(0.1, 0, 30), stamp: behind(-0.08)}}, []string{"2: stamps off /gps: 80 ms ahead"}},
		"a little late":  {30, clock{}, []source{{topic: "/cam", times: every(0.1, 0, 30), stamp: behind(0.9)}, {topic: "/b", times: every(0.1, 0, 30), stamp: behind(-0.04)}}, nil},
		"clock is set and put right": {
			60,
			clock{},
			[]source{{topic: "/gps", times: every(0.1, 0, 60), stamp: step(20, 40, 3600)}},
			[]string{"22: stamps off /gps: 1 h behind", "41: stamps off /gps over after 21 s"},
		},
		"stand still": {
			40,
			clock{},
			[]source{{topic: "/gps", times: every(0.1, 0, 40), stamp: func(at float64) float64 { return min(at, 20) }}},
			[]string{"23: stamps off /gps: standing still"},
		},
		"the same from the beginning": {
			40,
			clock{},
			[]source{{topic: "/gps", times: every(0.1, 0, 40), stamp: func(float64) float64 { return 7 }}},
			[]string{"2: stamps off /gps: 4.7 s ahead"},
		},
		"run backward": {40, clock{}, []source{{topic: "/gps", times: every(0.1, 0, 1), stamp: behind(0)}, {topic: "/back", times: every(0.05, 0, 40), stamp: func(at float64) float64 { return at - float64(int(at*4)%4)*0.2 }}}, nil},
		"a burst after a delay": {60, clock{}, []source{{topic: "/a", times: join(every(0.1, 0, 20), every(0.0001, 21.5, 21.5015), every(0.1, 21.6, 60)), stamp: func(at float64) float64 {
			if at > 21.4 && at < 21.6 {
				return at - 1.5
			}
			return at
		}}}, nil},
		"large messages": {60, clock{}, []source{
			{topic: "/map", times: every(2, 0, 60), stamp: behind(0), large: func(float64) float64 { return 0.9 }},
			{topic: "/refused", times: every(0.1, 0, 60), stamp: behind(0), large: func(at float64) float64 {
				if at > 20 {
					return 1e9 // the recorder has no room for it
				}
				return 0.01
			}},
		}, nil},
		"large and behind": {60, clock{}, []source{{topic: "/map", times: every(1, 0, 60), stamp: behind(1), large: func(float64) float64 { return 0.5 }}}, []string{"11: stamps off /map: 1.5 s behind"}},
		"not stamped":      {40, clock{}, []source{{topic: "/a", times: every(0.1, 0, 40), stamp: func(float64) float64 { return unset }}}, nil},
		"stamps of events": {400, clock{}, []source{{topic: "/a", times: poisson(0.5, 400), stamp: behind(3600)}}, nil},
		"the watcher is stopped": {
			100,
			clock{stopped: func(at float64) bool { return at > 20 && at < 50 || at > 60 && at < 61.5 }},
			[]source{{topic: "/a", times: every(0.1, 0, 100), stamp: behind(0.01)}, {topic: "/b", times: every(0.01, 0, 100)}, {topic: "/c", times: every(2, 0, 100)}},
			nil,
		},
		"the clock of the simulation stands still": {
			100,
			clock{sim: func(at float64) float64 { return min(at, 20) + max(0, at-60) }},
			[]source{{topic: "/a", times: join(every(0.1, 0, 20), every(0.1, 60, 100))}},
			nil,
		},
		"a simulation of half the speed": {
			100,
			clock{sim: func(at float64) float64 { return at / 2 }},
			[]source{{topic: "/a", times: join(every(0.2, 0, 40))}},
			[]string{"44: silent /a: 2 s (publisher there but mute)"},
		},
		"a simulation of ten times the speed": {
			60,
			clock{sim: func(at float64) float64 { return at * 10 }, expect: []string{"/late=1", "/never=1", "/expected=9"}},
			[]source{
				{topic: "/hiccup", times: join(every(0.01, 0, 20), every(0.01, 20.6, 60))},
				{topic: "/back", times: join(every(0.01, 0, 20), every(0.01, 30, 60))},
				{topic: "/late", times: every(0.01, 3, 60), absent: 2},
				{topic: "/slow", times: join(every(0.01, 0, 20), every(0.02, 20, 40), every(0.01, 40, 60))},
				{topic: "/expected", times: join(every(0.01, 0, 20), every(0.01, 20.6, 30), every(0.015, 30, 60))},
			},
			[]string{
				"5: silent /never: 50 s (no publisher)", "22: silent /back: 20 s (publisher there but mute)", "27: slow /slow: 5.4 Hz, usual 10",
				"30: silent /back over after 100 s", "34: slow /expected: 8.5 Hz, expected 9", "41: slow /slow over after 200 s",
			},
		},
		"a simulation of uneven speed": {
			80,
			clock{sim: unevenly, expect: []string{"/expected=3"}},
			[]source{
				{topic: "/a", times: uneven(0.1, 80)},
				{topic: "/expected", times: uneven(0.25, 80)},
				{topic: "/slow", times: join(uneven(0.1, 40), slices.DeleteFunc(uneven(0.2, 80), func(at float64) bool { return at < 40 }))},
			},
			[]string{"50: slow /slow: 5.3 Hz, usual 10"},
		},
		"a simulation that gets slower": {
			100,
			clock{sim: func(at float64) float64 { return min(at, 40)*10 + max(at-40, 0) }},
			[]source{{topic: "/a", times: join(every(0.01, 0, 40), every(0.1, 40, 80), every(0.2, 80, 100))}},
			[]string{"89: slow /a: 5.4 Hz, usual 10"},
		},
		"a leap of the simulation": {60, clock{sim: func(at float64) float64 {
			if at > 20 {
				return at + 1000
			}
			return at
		}}, []source{{topic: "/a", times: every(0.1, 0, 60)}}, nil},
		"held up by the recorder": {60, clock{}, []source{{topic: "/a", times: join(every(0.1, 0, 20), every(0.1, 30, 60)), held: func(at float64) bool { return at > 20 && at < 30.2 }}}, nil},
		"expected": {
			60,
			clock{expect: []string{"/a=10", "/b=5..11", "/never=1", "/camera/*=3", "/lidar/**=3", "/map=0"}},
			[]source{{topic: "/a", times: every(0.1, 0, 60)}, {topic: "/b", times: every(0.1, 0, 60)}, {topic: "/lidar/a", times: every(0.1, 0, 60)}, {topic: "/map", times: []float64{1}, latch: true}},
			[]string{"5: silent /never: 5 s (no publisher)", "5: silent /camera/*: 5 s (no publisher)"},
		},
		"appears late": {
			60,
			clock{expect: []string{"/a=5", "/c/*=5"}},
			[]source{{topic: "/a", times: every(0.1, 20, 60), absent: 20}, {topic: "/c/x", times: every(0.1, 30, 60), absent: 30}},
			[]string{"5: silent /a: 5 s (no publisher)", "5: silent /c/*: 5 s (no publisher)", "21: silent /a over after 20 s", "30: silent /c/* over after 30 s"},
		},
		"expectations that overlap": {
			60,
			clock{expect: []string{"/cam/left=1", "/cam/*=1", "/cam/**=1", "/gps/a=0", "/gps/*=1"}},
			[]source{{topic: "/cam/left", times: every(0.1, 20, 60), absent: 20}, {topic: "/gps/b", times: every(0.1, 0, 60)}},
			[]string{
				"5: silent /cam/left: 5 s (no publisher)", "5: silent /cam/*: 5 s (no publisher)", "5: silent /cam/**: 5 s (no publisher)", "5: silent /gps/a: 5 s (no publisher)",
				"20: silent /cam/left over after 20 s", "20: silent /cam/* over after 20 s", "20: silent /cam/** over after 20 s",
			},
		},
		"expected rates": {
			60,
			clock{expect: []string{"/slow=20", "/fast=1..5", "/odd=0.1"}},
			[]source{{topic: "/slow", times: every(0.1, 0, 60)}, {topic: "/fast", times: every(0.1, 0, 60)}, {topic: "/odd", times: poisson(1, 60)}},
			[]string{"10: slow /slow: 9.9 Hz, expected 20", "10: fast /fast: 9.9 Hz, expected 5"},
		},
		"events that are expected": {
			60,
			clock{expect: []string{"/odd=2"}},
			[]source{{topic: "/odd", times: join(poisson(8, 20), every(0.2, 30, 60))}},
			[]string{"22: silent /odd: 2.6 s (publisher there but mute)", "31: silent /odd over after 10 s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, _ := watch(t, tc.length, tc.clock, tc.sources...); !slices.Equal(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}
