package screen

import (
	"time"

	"github.com/gorosbag/gorosbag/player"
)

// track follows play from one account to the next. Its rates are by the time of the
// bags: they hold in a pause, and are the same at any rate of play.
type track struct {
	rates rates
	bag   time.Duration // played so far, without what was jumped over

	paces       rates         // of bag time, by wall time; pauses do not count
	run, ran    time.Duration // what paces is made of: bag time, wall time
	last        player.Status
	lastAt      time.Time
	begun       bool
	held, jumps bool // at the last account play stood, or was elsewhere
}

// add takes the next account.
func (t *track) add(s *player.Stats, now time.Time) {
	further := s.Position - t.last.Position
	jumps := s.Seeks != t.last.Seeks || s.Pass != t.last.Pass || further < 0
	jumped := jumps || t.jumps // what was latched before comes a moment later
	held := s.Paused || s.Phase != player.PhasePlay
	switch {
	case !t.begun:
		t.rates.next(0)
		jumped = false
	case jumped:
	default:
		t.bag += further
		t.rates.next(t.bag)
	}
	for i := range s.Topics {
		topic := &s.Topics[i]
		a := amount{topic.Messages, topic.Bytes}
		if jumped {
			t.rates.skip(topic.Name, a)
		} else {
			t.rates.set(topic.Name, a)
		}
	}
	if t.last.Rate != s.Rate {
		t.paces, t.run, t.ran = rates{}, 0, 0
	}
	if t.begun && !jumped && !held && !t.held {
		t.run += further
		t.ran += now.Sub(t.lastAt)
	}
	t.paces.next(t.ran)
	t.paces.set("", amount{messages: uint64(t.run)})
	t.last, t.lastAt, t.begun, t.held, t.jumps = s.Status, now, true, held, jumps && t.begun
}

// pace returns the bag time per wall time of the last seconds; zero while it is not
// known.
func (t *track) pace() float64 {
	if t.ran < time.Second {
		return 0
	}
	perSecond, _ := t.paces.of("")
	return perSecond / 1e9
}
