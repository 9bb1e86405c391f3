package viewing

import (
	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

// playback lets viewers control play. It implements live.Playback.
type playback struct{ *Viewing }

// controlled returns the control of play, nil before play is prepared.
func (p playback) controlled() control.Control {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.control
}

// Range implements live.Playback.
func (p playback) Range() (first, last rosbag.Time) {
	c := p.controlled()
	if c == nil {
		return rosbag.Time{}, rosbag.Time{}
	}
	s := c.Status()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first, p.first.Add(s.Length)
}

// State implements live.Playback.
func (p playback) State() live.PlaybackState {
	c := p.controlled()
	if c == nil {
		return live.PlaybackState{Status: live.Buffering, Speed: 1}
	}
	s := c.Status()
	return live.PlaybackState{Status: statusOf(&s), Time: s.BagTime, Speed: s.Rate}
}

// statusOf returns what viewers receive of a status.
func statusOf(s *control.Status) live.PlaybackStatus {
	switch {
	case s.Phase < control.PhasePlay:
		return live.Buffering
	case s.Phase > control.PhasePlay:
		return live.Ended
	case s.Paused:
		return live.Paused
	case s.Delayed > 0, s.Starving > 0:
		return live.Buffering
	}
	return live.Playing
}

// Changed implements live.Playback.
func (p playback) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Do implements live.Playback. At the end, playing and pausing have no effect without a seek.
func (p playback) Do(r live.PlaybackRequest) (jumps bool) {
	c := p.controlled()
	if c == nil {
		return false
	}
	before := c.Status()
	if r.Seek {
		c.Seek(before.PositionOf(r.SeekTo))
	}
	if float32(r.Speed) != float32(before.Rate) { // viewers send a float32 with each request
		c.SetRate(r.Speed) //nolint:errcheck,gosec // the server has limited it; the answer has the rate in force
	}
	now := c.Status()
	switch {
	case statusOf(&now) == live.Ended:
	case r.Play:
		c.Resume()
	default:
		c.Pause()
	}
	return now.Seeks != before.Seeks
}
