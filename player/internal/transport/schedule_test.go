package transport

import (
	"math"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestDeadline(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		schedule Schedule
		do       func(*Schedule)
		pos      time.Duration
		want     time.Duration
	}{
		"first":            {Schedule{Rate: 1}, nil, 0, 10 * ms},
		"rate 1":           {Schedule{Rate: 1}, nil, 1234567891, 10*ms + 1234567891},
		"rate 2":           {Schedule{Rate: 2}, nil, 3 * time.Second, 10*ms + 1500*ms},
		"rate 1/3":         {Schedule{Rate: 1.0 / 3}, nil, time.Second, 10*ms + 3*time.Second},
		"rate tiny":        {Schedule{Rate: 1e-12}, nil, time.Second, Forever},
		"rate just beyond": {Schedule{Rate: 0.5}, func(s *Schedule) { s.Begin(0, 0) }, 1 << 62, Forever},
		"rate huge":        {Schedule{Rate: 1e30}, nil, time.Hour, 10 * ms},
		"a year":           {Schedule{Rate: 1}, nil, 8766*time.Hour + 1, 10*ms + 8766*time.Hour + 1},
		"immediate":        {Schedule{Rate: 1, Immediate: true}, nil, time.Hour, 10 * ms},
		"paused":           {Schedule{Rate: 1, Paused: true}, nil, 0, Forever},
		"paused at once":   {Schedule{Rate: 1, Paused: true, Immediate: true}, nil, 0, Forever},
		"after position":   {Schedule{Rate: 1}, func(s *Schedule) { s.Begin(time.Second, 50*ms) }, 900 * ms, -50 * ms},
		"after pause": {Schedule{Rate: 2}, func(s *Schedule) {
			s.Pause(400 * ms)
			s.Resume(5 * time.Second)
		}, 1000 * ms, 5300 * ms},
		"after steps": {Schedule{Rate: 1}, func(s *Schedule) {
			s.Pause(400 * ms)
			s.Step(500 * ms)
			s.Step(900 * ms)
			s.Resume(5 * time.Second)
		}, 1000 * ms, 5100 * ms},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tc.schedule
			s.Begin(0, 10*ms)
			if tc.do != nil {
				tc.do(&s)
			}
			if got := s.Deadline(tc.pos); got != tc.want {
				t.Errorf("deadline(%v) = %v, want %v", tc.pos, got, tc.want)
			}
		})
	}
}

// Each deadline must be what one multiplication gives, after any number of
// messages: an error that adds up shows after a million.
func TestNoDrift(t *testing.T) {
	t.Parallel()
	s := Schedule{Rate: 3}
	s.Begin(0, 0)
	for i := range 1_000_000 {
		pos := time.Duration(i) * 10 * ms
		want := time.Duration((int64(pos) + 1) / 3) // rounded to the nearest: 10 ms * i mod 3 is 0, 1 or 2
		if got := s.Deadline(pos); got != want {
			t.Fatalf("message %d is due at %d, want %d", i, got, want)
		}
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	s := Schedule{Rate: 2}
	s.Begin(100*ms, 10*ms)
	if got := s.Position(60 * ms); got != 200*ms {
		t.Errorf("position %v, want 200ms", got)
	}
	if !s.Pause(s.Position(60*ms)) || s.Pause(0) {
		t.Error("pause does not say whether play was running")
	}
	if got := s.Position(time.Hour); got != 200*ms {
		t.Errorf("position %v while paused, want 200ms", got)
	}
	if !s.Resume(time.Hour) || s.Resume(time.Hour) {
		t.Error("resume does not say whether play was paused")
	}
	if got := s.Position(time.Hour + ms); got != 202*ms {
		t.Errorf("position %v after the pause, want 202ms", got)
	}
	s.Immediate = true
	if got := s.Position(0); got != Forever {
		t.Errorf("position %v, want no bound in immediate play", got)
	}
}

// What a Duration cannot hold is as far away as can be.
func TestAddClamped(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		base time.Duration
		ns   float64
		want time.Duration
	}{
		{0, 1 << 63, Forever},
		{time.Hour, 1e30, Forever},
		{0, -(1 << 63), math.MinInt64},
		{-time.Hour, -1e30, math.MinInt64},
		{1, 0.5, 2},
		{1, -0.4, 1},
	} {
		if got := addClamped(tc.base, tc.ns); got != tc.want {
			t.Errorf("%v plus %v ns is %d, want %d", tc.base, tc.ns, got, tc.want)
		}
	}
}
