// Package health watches what comes of the topics of a recording while it is recorded, and says what is wrong with them:
// in the log, in marks in the bag, and to whoever asks. Package finding decides; this package gives it the figures of the
// intake, four times a second, on a goroutine of its own.
package health

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
)

// Accounts has the figures of topics. The intake implements it.
type Accounts interface {
	// Arrivals appends what came of each topic to all, and reports whether messages are recorded now.
	Arrivals(all []finding.Arrivals) (arrivals []finding.Arrivals, recording bool)
	// Linked returns the names of the publishers that have a link to a topic.
	Linked(topic string) []string
}

// Config configures a Watcher.
type Config struct {
	Log      *zap.Logger
	Sim      *simtime.Sim // nil for the wall clock
	Expect   []finding.Expectation
	Accounts Accounts
	// IsPlayer reports whether a publisher plays a bag, whose stamps are those of another time.
	IsPlayer func(ctx context.Context, publisher string) bool
	// Mark writes a mark with a time into the bag, if there is one.
	Mark func(text string, at time.Time)
}

// Watcher watches the topics of one recording.
type Watcher struct {
	cfg      Config
	arrivals []finding.Arrivals // of the last look
	played   map[string]bool    // topics that players publish; owned by Run, as arrivals is

	mu    sync.Mutex // guards the following fields
	watch *finding.Watch
	doubt map[string]bool // topics whose stamps are off, while it is not known whether a player publishes them
}

// New returns a watcher that has not looked yet.
func New(c Config) *Watcher {
	return &Watcher{cfg: c, played: map[string]bool{}, watch: finding.New(c.Expect), doubt: map[string]bool{}}
}

// Run watches until ctx is done. What ends then was not found: the links are about to be closed.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(finding.Every)
	defer tick.Stop()
	w.Look(ctx, time.Now()) // a recording that ends at once has expectations, too
	for {
		select {
		case <-tick.C:
			w.Look(ctx, time.Now()) // the tick may be old, if the process was stopped
		case <-ctx.Done():
			w.end()
			return
		}
	}
}

// Look looks at all topics once.
func (w *Watcher) Look(ctx context.Context, now time.Time) {
	recording := w.ask()
	w.mu.Lock()
	changes := w.watch.Look(now, w.cfg.Sim.Steady(now), recording, w.arrivals)
	for i := range changes {
		if c := &changes[i]; c.Kind == finding.Stamps && !c.Over {
			w.doubt[c.Topic] = true
		}
	}
	w.mu.Unlock()
	for i := range changes {
		if c := &changes[i]; !w.takenBack(ctx, c) {
			w.tell(c, now)
		}
	}
}

// ask gets the figures of all topics, and reports whether messages are recorded now. Stamps that mean nothing are left
// out: those of players, and all if the graph has a clock of its own, which they follow.
func (w *Watcher) ask() (recording bool) {
	w.arrivals, recording = w.cfg.Accounts.Arrivals(w.arrivals[:0])
	for i := range w.arrivals {
		a := &w.arrivals[i]
		if a.Links == 0 && w.played[a.Topic] {
			delete(w.played, a.Topic)
		}
		if w.cfg.Sim != nil || w.played[a.Topic] {
			a.Stamp = 0
		}
		a.Held = a.Held || w.cfg.Sim != nil && a.Topic == simtime.Topic // which shows no time but its own
	}
	return recording
}

// takenBack takes back that stamps are off if a player publishes them.
func (w *Watcher) takenBack(ctx context.Context, c *finding.Change) bool {
	if c.Kind != finding.Stamps || c.Over {
		return false
	}
	for _, p := range w.cfg.Accounts.Linked(c.Topic) {
		w.played[c.Topic] = w.played[c.Topic] || w.cfg.IsPlayer(ctx, p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.doubt, c.Topic)
	if w.played[c.Topic] {
		w.watch.ForgetStamps(c.Topic)
	}
	return w.played[c.Topic]
}

// begun are the log lines at the beginning of an episode.
var begun = [finding.Kinds]string{
	finding.Silent: "a topic is silent", finding.Slow: "a topic is slow", finding.Fast: "a topic is too fast", finding.Stamps: "the stamps of a topic are off",
}

// tell writes the log line and the mark of the beginning or the end of an episode.
func (w *Watcher) tell(c *finding.Change, now time.Time) {
	topic := zap.String("topic", c.Topic)
	if c.Over {
		w.cfg.Log.Info("a topic is well again", loglimit.OnRequest(), topic, zap.Stringer("was", c.Kind), zap.Duration("for", c.For.Round(100*time.Millisecond)))
		w.cfg.Mark(c.Kind.String()+" "+c.Topic+" is over after "+finding.About(c.For), now)
		return
	}
	w.cfg.Log.Warn(begun[c.Kind], topic, zap.String("what", c.Text()))
	text, at := c.Line(), now.Add(-c.For)
	if c.Kind == finding.Silent {
		text = "silent " + c.Topic // how long, nobody knows yet
	}
	if c.Cause == finding.Absent {
		at = now // nothing happened when the recording began
	}
	w.cfg.Mark(text, at)
}

// end counts the expected topics of which no message came at all.
func (w *Watcher) end() {
	w.ask()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watch.End(w.arrivals)
}

// Findings returns what is wrong now, sorted.
func (w *Watcher) Findings() []finding.Finding {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.watch.Findings()
	kept := all[:0]
	for _, f := range all {
		if f.Kind != finding.Stamps || !w.doubt[f.Topic] {
			kept = append(kept, f)
		}
	}
	return kept
}

// Sums returns the accounts of all episodes, by topic.
func (w *Watcher) Sums() []finding.Sum {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watch.Sums()
}

// Usual returns what has been learned of all topics, by name.
func (w *Watcher) Usual() []finding.Usual {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watch.Usual()
}
