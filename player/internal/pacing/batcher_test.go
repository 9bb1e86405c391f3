package pacing

import (
	"testing"
	"time"
)

const us = time.Microsecond

// every tells a batcher of n messages that are due at a regular gap, and sent then.
func every(b *Batcher, gap time.Duration, n int) (last time.Duration) {
	for i := range n {
		last = time.Duration(i) * gap
		b.Add(last, last)
	}
	return last
}

// Below 6.7 kHz each message has its own wake-up; above, play sleeps for two gaps, and
// never longer than MaxBatchDelay.
func TestBatcher(t *testing.T) {
	t.Parallel()
	for gap, want := range map[time.Duration]time.Duration{ // after the last message was sent
		10 * time.Millisecond: 10 * time.Millisecond,
		time.Millisecond:      time.Millisecond,
		160 * us:              160 * us,
		120 * us:              MaxBatchDelay,
		50 * us:               100 * us,
		10 * us:               20 * us,
	} {
		var b Batcher
		last := every(&b, gap, 3000)
		got := b.WakeUp(last+gap) - last
		if got < want || got > want+us { // the average is rounded
			t.Errorf("messages each %v: the next one wakes up after %v, want %v", gap, got, want)
		}
		if late := last + time.Second; b.WakeUp(late) != late {
			t.Errorf("messages each %v: one that is due later is sent at another time", gap)
		}
	}
	border := Batcher{density: longestGap - batchGap}
	if got := border.WakeUp(0); got != 0 {
		t.Errorf("at the border: wakes up at %v, want the deadline", got)
	}
}

// A pause is forgotten soon, and so is a flood: one gap counts as longestGap at most, and
// time that goes back as none.
func TestBatcherForgets(t *testing.T) {
	t.Parallel()
	var b Batcher
	last := every(&b, 50*us, 3000)
	later := last + time.Hour
	b.Add(later, later)
	if got := b.WakeUp(later + us); got != later+us {
		t.Errorf("after a pause: wakes up after %v", got-later)
	}
	for i := range 600 {
		at := later + time.Duration(i)*50*us
		b.Add(at, at)
		last = at
	}
	if got := b.WakeUp(last+50*us) - last; got < 100*us || got > MaxBatchDelay {
		t.Errorf("in the next flood: wakes up after %v", got)
	}
	density := b.density
	b.Add(0, 0)
	if b.density < density || b.density > longestGap {
		t.Errorf("time that goes back: %v after %v", b.density, density)
	}
}
