// Package health watches what comes of the topics of a recording while it is recorded, and says what is
// wrong with them: in the log, in marks in the bag, and to whoever asks. Package finding decides; this
// package gives it the figures of the intake, four times a second, on a goroutine of its own. Another
// goroutine asks the master, which may not answer, whether publishers with wrong stamps are players:
// meanwhile everything else is told in time.
package health

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
)

// Accounts has the figures of topics. The intake implements it.
type Accounts interface {
	// Arrivals appends what came of each topic to all, and reports whether messages are recorded now.
	Arrivals(all []finding.Arrivals) (arrivals []finding.Arrivals, recording bool)
	// Linked returns the names of the publishers that have a link to a topic.
	Linked(topic topicname.InBag) []string
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

// askWithin bounds the questions about the publishers of all topics whose stamps went wrong at the same time.
const askWithin = 2 * time.Second

// Watcher watches the topics of one recording.
type Watcher struct {
	cfg     Config
	doubted chan []string        // topics whose publishers are to be asked about
	asked   chan map[string]bool // by topic: whether a player publishes it

	// The following fields are owned by Run.
	// of the last look
	arrivals []finding.Arrivals
	// topics that players publish
	played map[string]bool
	// of topics whose stamps are off, while it is not known whether a player publishes them
	doubt map[string][]change
	// the answers about some of them are awaited
	asking bool

	mu    sync.Mutex // guards watch
	watch *finding.Watch
}

// change is what is told about a topic, and when it was found.
type change struct {
	finding.Change
	at time.Time
}

// New returns a watcher that has not looked yet.
func New(c Config) *Watcher {
	return &Watcher{
		cfg: c, doubted: make(chan []string, 1), asked: make(chan map[string]bool, 1),
		played: map[string]bool{}, doubt: map[string][]change{}, watch: finding.New(c.Expect),
	}
}

// Run watches until ctx is done. What ends then was not found: the links are about to be closed.
func (w *Watcher) Run(ctx context.Context) {
	var wg sync.WaitGroup
	// owner: Run; ends when doubted is closed.
	wg.Go(func() { w.answer(ctx) })
	defer wg.Wait()
	defer close(w.doubted)
	tick := time.NewTicker(finding.Every)
	defer tick.Stop()
	w.look(time.Now()) // a recording that ends at once has expectations, too
	for {
		select {
		case <-tick.C:
			w.look(time.Now()) // the tick may be old, if the process was stopped
		case played := <-w.asked:
			w.decide(played)
		case <-ctx.Done():
			for w.asking { // nobody is waited for any more: the answers come at once
				w.decide(<-w.asked)
			}
			w.end()
			return
		}
	}
}

// look looks at all topics once.
func (w *Watcher) look(now time.Time) {
	recording := w.arrive()
	w.mu.Lock()
	all := w.watch.Look(now, w.cfg.Sim.Steady(now), recording, w.arrivals)
	told := make([]change, 0, len(all))
	for i := range all {
		c := change{all[i], now}
		switch {
		case c.Kind == finding.Stamps && !c.Over:
			w.watch.Doubt(c.Topic)
			w.doubt[c.Topic] = []change{c}
		case c.Kind == finding.Stamps && w.doubt[c.Topic] != nil:
			w.doubt[c.Topic] = append(w.doubt[c.Topic], c)
		default:
			told = append(told, c)
		}
	}
	w.mu.Unlock()
	for i := range told {
		w.tell(&told[i])
	}
	w.ask()
}

// arrive gets the figures of all topics, and reports whether messages are recorded now. Stamps that mean
// nothing are left out: those of players, and all if the graph has a clock of its own, which they follow.
func (w *Watcher) arrive() (recording bool) {
	w.arrivals, recording = w.cfg.Accounts.Arrivals(w.arrivals[:0])
	for i := range w.arrivals {
		a := &w.arrivals[i]
		if a.Links == 0 && w.played[a.Topic] {
			delete(w.played, a.Topic)
		}
		if w.cfg.Sim != nil || w.played[a.Topic] {
			a.Stamp = 0
		}
	}
	return recording
}

// ask asks about the topics in doubt, unless the answers about others are awaited.
func (w *Watcher) ask() {
	if topics := slices.Collect(maps.Keys(w.doubt)); len(topics) > 0 && !w.asking {
		w.asking = true
		w.doubted <- topics
	}
}

// answer finds out which topics in doubt players publish. A publisher about which there is no answer in
// time, or before ctx is done, is no player.
func (w *Watcher) answer(ctx context.Context) {
	for topics := range w.doubted {
		w.asked <- w.playedOf(ctx, topics)
	}
}

func (w *Watcher) playedOf(ctx context.Context, topics []string) map[string]bool {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	played, players := map[string]bool{}, map[string]bool{}
	for _, topic := range topics {
		played[topic] = false
		for _, p := range w.cfg.Accounts.Linked(topicname.InBag(topic)) {
			is, known := players[p]
			if !known {
				is = w.cfg.IsPlayer(ctx, p)
				players[p] = is
			}
			played[topic] = played[topic] || is
		}
	}
	return played
}

// decide tells what is in doubt about topics, or takes it back if a player publishes them.
func (w *Watcher) decide(played map[string]bool) {
	w.asking = false
	for topic, is := range played {
		w.mu.Lock()
		w.watch.Settle(topic, !is)
		w.mu.Unlock()
		changes := w.doubt[topic]
		if delete(w.doubt, topic); is {
			w.played[topic] = true
			continue
		}
		for i := range changes {
			w.tell(&changes[i])
		}
	}
	w.ask()
}

// begun are the log lines at the beginning of an episode.
var begun = [finding.Kinds]string{
	finding.Silent: "a topic is silent", finding.Slow: "a topic is slow", finding.Fast: "a topic is too fast",
	finding.Stamps: "the stamps of a topic are off",
}

// tell writes the log line and the mark of the beginning or the end of an episode.
func (w *Watcher) tell(c *change) {
	topic := zap.String("topic", c.Topic)
	if c.Over {
		w.cfg.Log.Info("a topic is well again", loglimit.OnRequest(), topic, zap.Stringer("was", c.Kind),
			zap.Duration("for", c.For.Round(100*time.Millisecond)))
		w.cfg.Mark(c.Kind.String()+" "+c.Topic+" is over after "+finding.About(c.For), c.at)
		return
	}
	w.cfg.Log.Warn(begun[c.Kind], topic, zap.String("what", c.Text()))
	text, at := c.Line(), c.at.Add(-c.For)
	if c.Kind == finding.Silent {
		text = "silent " + c.Topic // how long, nobody knows yet
	}
	if c.Cause == finding.Absent {
		at = c.at // nothing happened when the recording began
	}
	w.cfg.Mark(text, at)
}

// end counts the expected topics of which no message came at all.
func (w *Watcher) end() {
	w.arrive()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watch.End(w.arrivals)
}

// Findings returns what is wrong now, sorted.
func (w *Watcher) Findings() []finding.Finding {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watch.Findings()
}

// Sums returns the accounts of all episodes, by topic.
func (w *Watcher) Sums() []finding.Sum {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watch.Sums()
}
