package publink

import (
	"testing"
	"time"
)

// Whoever owes an answer for long, and is asked again in vain, is gone. Who has nothing to
// answer, reads slowly or is on a bad line is there.
func TestSilence(t *testing.T) {
	t.Parallel()
	const s = time.Second
	never := func(time.Duration) bool { return false }
	always := func(time.Duration) bool { return true }
	since := func(at time.Duration) time.Duration { return at }
	// asked is how often Linux has sent something again, at intervals that double.
	asked := func(first time.Duration) func(time.Duration) uint32 {
		return func(at time.Duration) (n uint32) {
			for wait := first; at >= wait && wait > 0; n++ {
				at -= wait
				wait *= 2
			}
			return n
		}
	}
	const stop = 30 * s // our process is stopped for so long
	for name, tt := range map[string]struct {
		owes  func(at time.Duration) bool
		heard func(at time.Duration) time.Duration // how long ago
		asked func(at time.Duration) uint32        // nil: each time
		stop  time.Duration                        // when we are stopped; zero for never
		gone  time.Duration                        // zero for never
	}{
		"nothing to say":       {owes: never, heard: since},
		"busy":                 {owes: always, heard: func(time.Duration) time.Duration { return 30 * time.Millisecond }},
		"answers now and then": {owes: always, heard: func(at time.Duration) time.Duration { return at % (12 * s) }},
		"gone while busy":      {owes: always, heard: func(at time.Duration) time.Duration { return max(30*time.Millisecond, at-20*s) }, gone: 34 * s},
		"asked after a rest":   {owes: func(at time.Duration) bool { return at == 40*s }, heard: since},
		"gone after a rest":    {owes: func(at time.Duration) bool { return at >= 40*s }, heard: since, gone: 54 * s},
		"closed window":        {owes: func(at time.Duration) bool { return at%(4*s) == 0 }, heard: func(at time.Duration) time.Duration { return at % (30 * s) }}, // a probe is just out
		// Asked after 12.6 s. The kernel's clock is not ours.
		"gone on a quick line": {owes: always, heard: func(at time.Duration) time.Duration { return at - at/1000 }, asked: asked(s / 5), gone: 16 * s},
		// Asked after 3.3, 7.7, 16.5 and 34.1 s, and there again when 9 s are over.
		"a slow line": {owes: func(at time.Duration) bool { return at < 16500*time.Millisecond }, heard: since, asked: asked(1100 * time.Millisecond)},
		// It has no room for a long time, and one of the rare questions is lost.
		"a lost probe": {owes: func(at time.Duration) bool { return at < 100*s }, heard: since, asked: func(at time.Duration) uint32 { return uint32(at / (100 * s)) }},
		// What was asked before was answered, and then it is asked again.
		"we are stopped": {owes: func(at time.Duration) bool { return at == 10*s || at == 10*s+stop }, heard: func(at time.Duration) time.Duration { return at - 10*s }, stop: 10 * s},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			var silent silenceDetector
			gone := time.Duration(0)
			for at, checks := time.Duration(0), uint32(0); at <= 2*time.Minute && gone == 0; at += silentCheck {
				d := ackState{tt.owes(at), tt.heard(at), checks}
				if tt.asked != nil {
					d.probes = tt.asked(at)
				}
				if silent.exceeded(start.Add(at), d) {
					gone = at
				}
				if checks++; tt.stop > 0 && at == tt.stop {
					at += stop - silentCheck
				}
			}
			if gone != tt.gone {
				t.Errorf("gone after %v, want %v", gone, tt.gone)
			}
		})
	}
}
