package screen

import (
	"time"

	"github.com/gorosbag/gorosbag/cmd/play/internal/face"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/topictable"
	"github.com/gorosbag/gorosbag/player/control"
)

// track computes rates from successive samples of the statistics. They are by bag time, so that
// pauses and the rate of play do not change them.
type track struct {
	rates  topictable.Rates
	sparks topictable.Sparks
	ran    time.Duration // wall time of play so far, without pauses and seeks
	bag    time.Duration // bag time played so far, without seeks

	pace             face.Meter
	last             control.Status
	lastAt           time.Time
	begun            bool
	wasHeld, wasSeek bool // at the last sample play was paused, or had just sought
}

// add adds a sample.
func (t *track) add(s *control.Stats, now time.Time) {
	further := s.Position - t.last.Position
	jumps := s.Seeks != t.last.Seeks || s.Pass != t.last.Pass || further < 0
	jumped := jumps || t.wasSeek // latched messages of before follow a moment later
	held := s.Paused || s.Phase != control.PhasePlay
	switch {
	case !t.begun:
		t.rates.Next(0)
		jumped = false
	case jumped:
	default:
		t.bag += further
		t.rates.Next(t.bag)
	}
	for i := range s.Topics {
		topic := &s.Topics[i]
		a := topictable.Amount{Messages: topic.Messages, Bytes: topic.Bytes}
		if jumped {
			t.rates.Skip(topic.Name, a)
		} else {
			t.rates.Set(topic.Name, a)
		}
	}
	if t.begun && !jumped && !held && !t.wasHeld {
		t.ran += now.Sub(t.lastAt)
		t.spark(s.Topics)
	}
	t.pace.Add(&s.Status)
	t.last, t.lastAt, t.begun, t.wasHeld, t.wasSeek = s.Status, now, true, held, jumps && t.begun
}

// spark adds the rates of a second of play to the last minute.
func (t *track) spark(topics []control.TopicStats) {
	if !t.sparks.Begin(t.ran) {
		return
	}
	for i := range topics {
		hz, _ := t.rates.Over(topics[i].Name, int(time.Second/term.Refresh))
		t.sparks.Set(topics[i].Name, hz)
	}
}
