package player

import (
	"testing"
	"time"
)

const ms = time.Millisecond

func TestDeadline(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		schedule schedule
		do       func(*schedule)
		pos      time.Duration
		want     time.Duration
	}{
		"first":           {schedule{rate: 1}, nil, 0, 10 * ms},
		"rate 1":          {schedule{rate: 1}, nil, 1234567891, 10*ms + 1234567891},
		"rate 2":          {schedule{rate: 2}, nil, 3 * time.Second, 10*ms + 1500*ms},
		"rate 1/3":        {schedule{rate: 1.0 / 3}, nil, time.Second, 10*ms + 3*time.Second},
		"rate tiny":       {schedule{rate: 1e-12}, nil, time.Second, forever},
		"rate huge":       {schedule{rate: 1e30}, nil, time.Hour, 10 * ms},
		"a year":          {schedule{rate: 1}, nil, 8766*time.Hour + 1, 10*ms + 8766*time.Hour + 1},
		"immediate":       {schedule{rate: 1, immediate: true}, nil, time.Hour, 10 * ms},
		"paused":          {schedule{rate: 1, paused: true}, nil, 0, forever},
		"paused at once":  {schedule{rate: 1, paused: true, immediate: true}, nil, 0, forever},
		"behind position": {schedule{rate: 1}, func(s *schedule) { s.begin(time.Second, 50*ms) }, 900 * ms, -50 * ms},
		"after pause": {schedule{rate: 2}, func(s *schedule) {
			s.pause(400 * ms)
			s.resume(5 * time.Second)
		}, 1000 * ms, 5300 * ms},
		"after steps": {schedule{rate: 1}, func(s *schedule) {
			s.pause(400 * ms)
			s.step(500 * ms)
			s.step(900 * ms)
			s.resume(5 * time.Second)
		}, 1000 * ms, 5100 * ms},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tc.schedule
			s.begin(0, 10*ms)
			if tc.do != nil {
				tc.do(&s)
			}
			if got := s.deadline(tc.pos); got != tc.want {
				t.Errorf("deadline(%v) = %v, want %v", tc.pos, got, tc.want)
			}
		})
	}
}

// Each deadline must be what one multiplication gives, after any number of
// messages: an error that adds up shows after a million.
func TestNoDrift(t *testing.T) {
	t.Parallel()
	s := schedule{rate: 3}
	s.begin(0, 0)
	for i := range 1_000_000 {
		pos := time.Duration(i) * 10 * ms
		want := time.Duration((int64(pos) + 1) / 3) // rounded to the nearest: 10 ms * i mod 3 is 0, 1 or 2
		if got := s.deadline(pos); got != want {
			t.Fatalf("message %d is due at %d, want %d", i, got, want)
		}
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	s := schedule{rate: 2}
	s.begin(100*ms, 10*ms)
	if got := s.position(60 * ms); got != 200*ms {
		t.Errorf("position %v, want 200ms", got)
	}
	if !s.pause(s.position(60*ms)) || s.pause(0) {
		t.Error("pause does not say whether play was running")
	}
	if got := s.position(time.Hour); got != 200*ms {
		t.Errorf("position %v while paused, want 200ms", got)
	}
	if !s.resume(time.Hour) || s.resume(time.Hour) {
		t.Error("resume does not say whether play was paused")
	}
	if got := s.position(time.Hour + ms); got != 202*ms {
		t.Errorf("position %v after the pause, want 202ms", got)
	}
	s.immediate = true
	if got := s.position(0); got != forever {
		t.Errorf("position %v, want no bound in immediate play", got)
	}
}
