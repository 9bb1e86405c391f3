package face_test

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/cmd/play/internal/face"
	"github.com/gorosbag/gorosbag/player/control"
)

func TestMeter(t *testing.T) {
	t.Parallel()
	const s = time.Second
	const unknown = -1
	type stretch struct {
		rate float64       // that is asked for
		wall time.Duration // of play
		pace float64       // bag time per wall time
	}
	tests := map[string]struct {
		play []stretch
		want float64 // unknown if it is not known
	}{
		"before a second":                {[]stretch{{2, 900 * time.Millisecond, 2}}, unknown},
		"after a second":                 {[]stretch{{2, s, 2}}, 2},
		"slower than asked for":          {[]stretch{{2, time.Hour, 1.5}}, 1.5},
		"half of the window is slower":   {[]stretch{{2, time.Hour, 2}, {2, 2 * s, 1}}, 1.5},
		"the whole window is slower":     {[]stretch{{2, time.Hour, 2}, {2, 4 * s, 1}}, 1},
		"play stands still":              {[]stretch{{2, time.Hour, 2}, {2, 4 * s, 0}}, 0},
		"shortly after a change of rate": {[]stretch{{2, time.Hour, 2}, {1, 900 * time.Millisecond, 1}}, unknown},
		"after a change of rate":         {[]stretch{{2, time.Hour, 2}, {1, s, 1}}, 1},
		"after a change of rate back":    {[]stretch{{1, time.Hour, 1}, {2, s, 2}, {1, s, 1}}, 1},
		"paused":                         {[]stretch{{2, s, 2}, {2, 0, 0}}, 2},
	}
	for _, every := range []time.Duration{s / 100, s / 4, s / 2} {
		for name, tc := range tests {
			t.Run(name+", sampled each "+every.String(), func(t *testing.T) {
				t.Parallel()
				var m face.Meter
				if got, ok := m.Pace(); ok {
					t.Errorf("without a sample: %v", got)
				}
				var now control.Status
				for _, p := range tc.play {
					now.Rate = p.rate
					m.Add(&now)
					begin := now
					for wall := time.Duration(0); wall < p.wall; {
						wall = min(wall+every, p.wall)
						now.Elapsed, now.Played = begin.Elapsed+wall, begin.Played+time.Duration(float64(wall)*p.pace)
						m.Add(&now)
					}
				}
				m.Add(&now)
				if got, ok := m.Pace(); ok != (tc.want != unknown) || ok && got != tc.want {
					t.Errorf("%v, %v; want %v", got, ok, tc.want)
				}
			})
		}
	}
}
