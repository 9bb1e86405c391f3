package transport

import (
	"math"
	"testing"
	"time"
)

// inMotion is a transport that began at position 0 at time 0.
func inMotion(s Schedule) *Transport {
	t := New(Options{Schedule: s, Loop: Loop{To: Forever}})
	t.Begin(Place{}, 0, 0)
	return t
}

// reach plays up to a position.
func reach(t *Transport, pos time.Duration) {
	t.SetNext(pos)
	t.Publish(Place{}, pos, pos)
	t.SetNext(Forever)
}

func TestPlayTime(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		schedule Schedule
		do       func(*Transport)
		from, to time.Duration
		want     time.Duration
	}{
		"forth":       {Schedule{Rate: 1}, nil, 10 * ms, 35 * ms, 25 * ms},
		"back":        {Schedule{Rate: 1}, nil, 35 * ms, 10*ms + 1, -25*ms + 1},
		"rate":        {Schedule{Rate: 4}, nil, 35 * ms, -5 * ms, -10 * ms},
		"immediate":   {Schedule{Rate: 1, Immediate: true}, nil, 35 * ms, 10 * ms, 0},
		"paused":      {Schedule{Rate: 2, Paused: true}, nil, 30 * ms, 10 * ms, -10 * ms},
		"a long time": {Schedule{Rate: 1}, nil, 8766 * time.Hour, 1, 1 - 8766*time.Hour},
		"too long":    {Schedule{Rate: 1e-6}, nil, 0, 8766 * time.Hour, maxPlayTime},
		"too long, back": {
			Schedule{Rate: 1}, nil, 0, -70 * 365 * 24 * time.Hour, -maxPlayTime,
		},
		"a rate that has changed": {
			Schedule{Rate: 1},
			func(p *Transport) {
				reach(p, 90*ms)
				p.SetRate(2, 100*ms) // at 100 ms
			}, 140 * ms, 70 * ms, -20*ms - 30*ms,
		},
		"a part at the new rate": {
			Schedule{Rate: 1},
			func(p *Transport) {
				reach(p, 90*ms)
				p.SetRate(2, 100*ms)
			}, 140 * ms, 100 * ms, -20 * ms,
		},
		"from before the change: the rate of now": {
			Schedule{Rate: 1},
			func(p *Transport) {
				reach(p, 90*ms)
				p.SetRate(2, 100*ms)
			}, 80 * ms, 60 * ms, -10 * ms,
		},
		"several": {
			Schedule{Rate: 1},
			func(p *Transport) {
				reach(p, 90*ms)
				p.SetRate(2, 100*ms)
				p.SetRate(0.5, 110*ms) // at 120 ms
				p.SetRate(10, 110*ms)  // at once: it never was 0.5
				p.SetRate(4, 120*ms)   // at 220 ms
			}, 240 * ms, 80 * ms, -5*ms - 10*ms - 10*ms - 20*ms,
		},
		"a pause takes no time": {
			Schedule{Rate: 1},
			func(p *Transport) {
				reach(p, 90*ms)
				p.Pause(100 * ms)
				p.SetRate(2, time.Minute)
				p.Resume(time.Hour)
			}, 140 * ms, 70 * ms, -20*ms - 30*ms,
		},
		"a jump: what was before it, is before the place where it ends": {
			Schedule{Rate: 1},
			func(p *Transport) {
				p.Load(p.head.zero, time.Second)
				reach(p, 90*ms)
				p.SetRate(2, 100*ms)
				p.Seek(500*ms, 110*ms) // from 120 ms, after 20 ms at the new rate
			}, 540 * ms, 470 * ms, -20*ms - 10*ms - 10*ms,
		},
		"a step": {
			Schedule{Rate: 1},
			func(p *Transport) {
				reach(p, 90*ms)
				p.SetRate(2, 100*ms)
				p.SetNext(180 * ms)
				p.Pause(110 * ms) // at 120 ms
				p.Burst(1)
				p.Publish(Place{}, 180*ms, 110*ms)
			}, 180 * ms, 150 * ms, -10*ms - 10*ms,
		},
		"a gap that is left out": {
			Schedule{Rate: 1},
			func(p *Transport) {
				p.skipEmpty = time.Second
				reach(p, 90*ms)
				p.SetRate(2, 100*ms)
				p.Skip(time.Hour, 110*ms)
			}, time.Hour, time.Hour - 30*ms, -10*ms - 10*ms,
		},
		"a pass": {
			Schedule{Rate: 1},
			func(p *Transport) {
				reach(p, 90*ms)
				p.SetRate(2, 100*ms)
				p.NextPass(0, 0, 110*ms)
			}, 40 * ms, -30 * ms, -20*ms - 10*ms - 10*ms,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := inMotion(tc.schedule)
			if tc.do != nil {
				tc.do(p)
			}
			if got := p.head.PlayTime(tc.from, tc.to); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// However often the rate changes, what is remembered is bounded, and is the latest.
func TestManyRates(t *testing.T) {
	t.Parallel()
	p := inMotion(Schedule{Rate: 1})
	p.SetNext(Forever)
	for i := range 1000 {
		p.SetRate([]float64{1, 2}[i%2], time.Duration(i+1)*ms)
	}
	if n := len(p.head.rates); n != maxRateChanges {
		t.Errorf("%d changes remembered", n)
	}
	pos, due := p.head.Anchor()
	if pos != 1499*ms || due != time.Second {
		t.Errorf("anchor %v at %v", pos, due)
	}
	for back := range maxRateChanges {
		to, want := pos-time.Duration(back/2*3+back%2)*ms, -time.Duration(back)*ms
		if got := p.head.PlayTime(pos, to); got != want {
			t.Errorf("%d changes ago: %v, want %v", back, got, want)
		}
	}
}

// The time of a position is that of the schedule.
func TestPlayTimeFromTheAnchor(t *testing.T) {
	t.Parallel()
	p := inMotion(Schedule{Rate: math.Pi})
	p.SetNext(Forever)
	p.SetRate(math.E, 100*ms)
	p.SetRate(1.0/3, 300*ms)
	pos, due := p.head.Anchor()
	for i := range 1000 {
		to := pos + time.Duration(i)*1_234_567
		if got, want := due+p.head.PlayTime(pos, to), p.SetNext(to); got != want {
			t.Fatalf("position %v is due at %v, want %v", to, got, want)
		}
	}
}
