package publink

import (
	"testing"
	"time"
)

// A peer that owes an acknowledgment for long, and does not answer a retransmission, is gone. A
// peer that owes none, reads slowly or has a bad network is not gone.
func TestSilence(t *testing.T) {
	t.Parallel()
	const s = time.Second
	never := func(time.Duration) bool { return false }
	always := func(time.Duration) bool { return true }
	since := func(at time.Duration) time.Duration { return at }
	// asked is the number of retransmissions by Linux, at intervals that double.
	asked := func(first time.Duration) func(time.Duration) uint32 {
		return func(at time.Duration) (n uint32) {
			for wait := first; at >= wait && wait > 0; n++ {
				at -= wait
				wait *= 2
			}
			return n
		}
	}
	const stop = 30 * s // how long this process is stopped
	for name, tt := range map[string]struct {
		owes  func(at time.Duration) bool
		heard func(at time.Duration) time.Duration // how long ago
		asked func(at time.Duration) uint32        // nil: each time
		stop  time.Duration                        // when this process is stopped; zero for never
		gone  time.Duration                        // zero for never
	}{
		"nothing to say":       {owes: never, heard: since},
		"busy":                 {owes: always, heard: func(time.Duration) time.Duration { return 30 * time.Millisecond }},
		"answers now and then": {owes: always, heard: func(at time.Duration) time.Duration { return at % (12 * s) }},
		"gone while busy":      {owes: always, heard: func(at time.Duration) time.Duration { return max(30*time.Millisecond, at-20*s) }, gone: 34 * s},
		"asked after a rest":   {owes: func(at time.Duration) bool { return at == 40*s }, heard: since},
		"gone after a rest":    {owes: func(at time.Duration) bool { return at >= 40*s }, heard: since, gone: 54 * s},
		"closed window":        {owes: func(at time.Duration) bool { return at%(4*s) == 0 }, heard: func(at time.Duration) time.Duration { return at % (30 * s) }}, // a probe is just out
		// Retransmitted after 12.6 s. The kernel's clock differs from the process's clock.
		"gone on a quick line": {owes: always, heard: func(at time.Duration) time.Duration { return at - at/1000 }, asked: asked(s / 5), gone: 16 * s},
		// Retransmitted after 3.3, 7.7, 16.5 and 34.1 s; the peer is back after 9 s.
		"a slow line": {owes: func(at time.Duration) bool { return at < 16500*time.Millisecond }, heard: since, asked: asked(1100 * time.Millisecond)},
		// The window of the peer is closed for a long time, and one of the rare probes is lost.
		"a lost probe": {owes: func(at time.Duration) bool { return at < 100*s }, heard: since, asked: func(at time.Duration) uint32 { return uint32(at / (100 * s)) }},
		// An earlier retransmission was acknowledged, and then another follows.
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
