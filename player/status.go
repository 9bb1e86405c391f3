package player

import (
	"time"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/readahead"
	"github.com/gorosbag/gorosbag/player/internal/stage"
)

// Changed implements Control.
func (c *conductor) Changed() <-chan struct{} { return c.watchers.Changed() }

// Status implements Control.
func (c *conductor) Status() control.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statusLocked()
}

// statusLocked returns the state of play.
func (c *conductor) statusLocked() control.Status {
	now := c.time.Now()
	s := c.transport.State(now)
	return control.Status{
		Phase:    c.phase,
		Paused:   s.Paused,
		Rate:     s.Rate,
		Played:   s.Played,
		Elapsed:  c.timing.Elapsed(now),
		Late:     c.timing.LastLate(),
		BagTime:  s.BagTime,
		Position: s.Position,
		Length:   s.Length,
		Pass:     s.Pass,
		Messages: c.output.Messages(),

		Loop:          s.Loop,
		LoopFrom:      s.From,
		LoopTo:        s.To,
		Bookmarks:     s.Bookmarks,
		PauseOnTopics: s.PauseOnTopics && c.plan.Pauses,
		PausedBy:      s.PausedBy,
		Delayed:       c.held.ahead,
		Starving:      starving(c.readahead.Queue),
		Seeks:         s.Jumps,
	}
}

// minStarving is the shortest wait for the disk that is reported.
const minStarving = time.Second

// starving returns how long play has been waiting for the disk, or 0 below minStarving.
func starving(q *readahead.Queue) time.Duration {
	if d := q.StarvedFor(); d >= minStarving {
		return d
	}
	return 0
}

// Stats implements Control.
func (c *conductor) Stats() control.Stats {
	c.mu.Lock()
	s := control.Stats{Status: c.statusLocked(), Topics: c.output.Counts()}
	full := c.held.full
	c.mu.Unlock()
	c.output.AddSubscribers(s.Topics)
	s.Damage = c.damage.Count()
	s.Starved, s.AheadBytes = c.readahead.Queue.StarvedCount(), c.readahead.Queue.QueuedBytes()
	if full != nil {
		s.WaitingFor = full.NotReading()
	}
	switch {
	case s.Phase == control.PhaseWait:
		s.WaitingFor = stage.WithoutSubscriber(c.output.Awaited(c.awaited))
	case s.Phase <= control.PhasePlay && !s.Paused && c.time.External.StandsStill():
		s.WaitingFor = append(s.WaitingFor, c.time.External.Topic())
	}
	return s
}

// Density implements Control.
func (c *conductor) Density(n int) []uint64 {
	c.mu.Lock()
	zero, length := c.transport.Head().Span()
	c.mu.Unlock()
	return c.plan.Density(zero, length, n)
}
