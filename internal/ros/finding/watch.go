package finding

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// stalledAfter is the longest time between two looks. After a longer one the watcher was stopped
	// itself, by a signal or a suspended machine: nobody knows what came meanwhile. What has waited in
	// sockets then comes within settle.
	stalledAfter = time.Second
	settle       = time.Second

	// leapAfter is the largest step of the clock of the recording between two looks: a simulator that jumps.
	leapAfter = 10 * time.Second
)

// Change is the beginning or the end of an episode.
type Change struct {
	Finding      // For is the length of the episode at its end
	Over    bool // the episode has ended
}

// Sum is the account of the episodes of one kind of a topic.
type Sum struct {
	Topic    string
	Kind     Kind
	Episodes int
	Time     time.Duration // all episodes together
	Open     bool          // the last episode has not ended
	Expected bool          // an expectation was not met, in at least one of the episodes, while it counted
	Untold   int           // silences besides, too soon after the topic had come back: it stops often
}

// Watch watches the topics of one recording. One goroutine owns it.
type Watch struct {
	expect  []Expectation
	topics  map[string]*watched
	at      time.Duration // the time that was watched; it begins with the first look
	looked  time.Time     // when Look was called last; zero before the first call
	steady  time.Time     // the time of the recording then
	pace    pace
	settle  time.Duration // until then nothing is judged
	round   int
	counts  bool         // expectations count now
	counted bool         // they did at any time
	found   []bool       // by expectation: whether a topic matches its glob; nil when the topics have changed
	ended   [Kinds]tally // of topics whose accounts have ended
	change  []Change     // of the last look
}

// tally counts episodes.
type tally struct {
	episodes int
	time     time.Duration
	unmet    bool // an expectation was not met while it counted
	untold   int
}

func (c *tally) add(o tally) {
	c.episodes += o.episodes
	c.time += o.time
	c.untold += o.untold
	c.unmet = c.unmet || o.unmet
}

// watched is a topic and the accounts of its episodes.
type watched struct {
	topic
	round    int  // of the last look that had the topic
	expected bool // the topic has not appeared: only an expectation has its name
	counts   [Kinds]tally
}

// total returns the account of the episodes of a kind, with one that goes on.
func (t *watched) total(k Kind, at time.Duration) tally {
	c := t.counts[k]
	if e := &t.episodes[k]; e.on && !e.doubted {
		c.time += at - e.since
	}
	if k == Silent {
		c.untold = t.untold
	}
	return c
}

// Ended stands for the name of a topic in the sum of the topics whose accounts have ended.
const Ended = "(topics that ended)"

// New returns a watch for topics of which the user expects something. Names of expectations are those of
// topics.
func New(expect []Expectation) *Watch {
	return &Watch{expect: expect, topics: map[string]*watched{}}
}

// Events reports whether a topic has events, which happen to come regularly at times.
func Events(topic string) bool { return topic == "/rosout" || topic == "/rosout_agg" }

// Look takes the figures of all topics and returns what has begun and ended since the last look; the
// slice is valid until the next look. now is the wall clock. steady is the clock of the recording, which
// never goes back, and may stand still. counts says that an expectation that is not met now counts in
// Sums.
func (w *Watch) Look(now, steady time.Time, counts bool, topics []Arrivals) []Change {
	before := w.at
	stalled := w.tick(now, steady)
	step := max(w.at-before, w.pace.step())
	if steady.Equal(now) { // no simulation
		step = Every
	}
	w.change, w.counts, w.counted = w.change[:0], counts, w.counted || counts
	w.round++
	for i := range topics {
		a := &topics[i]
		t := w.topics[a.Topic]
		if t == nil {
			t = w.add(a)
		}
		if t.round = w.round; t.expected {
			t.expected, w.found = false, nil
		}
		t.window.setLeast(Every*time.Duration(w.pace.times()), w.at)
		switch ago := now.Sub(a.Last); {
		case stalled:
			t.rebase(w.at, a)
		case w.at == before && a.Messages == t.messages: // the clock stands still
		case !steady.Equal(now): // Last is not of the clock of the recording
			t.look(before, w.at, step, a, 0)
		default:
			t.look(before, w.at, step, a, ago)
		}
		w.tell(a.Topic, t)
	}
	w.missing(step, stalled)
	return w.change
}

// tick moves the time on, and reports whether nobody knows what came since the last look.
func (w *Watch) tick(now, steady time.Time) (stalled bool) {
	if w.looked.IsZero() {
		w.looked, w.steady = now.Add(-Every), steady.Add(-Every) // what has come, came just before
	}
	passed := max(steady.Sub(w.steady), 0)
	if now.Sub(w.looked) > stalledAfter || now.Before(w.looked) || passed > leapAfter {
		w.settle = w.at + Every + settle
		passed = Every
	} else {
		w.pace.look(passed, now.Sub(w.looked))
	}
	w.looked, w.steady = now, steady
	w.at += passed
	return w.at < w.settle
}

// pace is how fast the clock of the recording runs. A robot has 1, a simulation may have more.
type pace struct {
	speed float64 // less 1, about the mean of the latest looks
	power uint    // of two: times, which changes less often
}

// paceKept is about how many looks the speed reaches back.
const paceKept = 8

// look takes how much time of the recording and of the wall clock has passed. A clock that stands still
// keeps its pace.
func (p *pace) look(passed, wall time.Duration) {
	if passed == 0 {
		return
	}
	p.speed += (passed.Seconds()/max(wall, Every).Seconds() - 1 - p.speed) / paceKept
	for p.speed+1 > 1.5*float64(p.times()) {
		p.power++
	}
	for p.power > 0 && p.speed+1 < 0.55*float64(p.times()) {
		p.power--
	}
}

// times is how many times longer windows are than those of a robot, so that they cover about as much of
// the wall clock.
func (p *pace) times() int { return 1 << p.power }

// step is how much time passes between looks, Every at least.
func (p *pace) step() time.Duration {
	return Every + time.Duration(max(p.speed, 0)*float64(Every))
}

// add begins to watch a topic.
func (w *Watch) add(a *Arrivals) *watched {
	t := &watched{topic: *newTopic(w.at, expected(w.expect, a.Topic))}
	t.learns = !Events(a.Topic)
	w.found = nil
	w.topics[strings.Clone(a.Topic)] = t
	return t
}

// missing looks at expected topics that have no account, and forgets topics whose accounts have ended.
func (w *Watch) missing(step time.Duration, stalled bool) {
	if stalled {
		return
	}
	for i := range w.expect {
		e := &w.expect[i]
		t := w.topics[e.Topics]
		if e.pattern != nil && w.matched(i) {
			if t != nil {
				t.round, t.any = w.round, true
				t.episodes[Silent].on = false
				w.tell(e.Topics, t)
			}
			continue
		}
		a := Arrivals{Topic: e.Topics}
		if t == nil {
			t = w.add(&a)
			t.expected = true
		}
		if t.round != w.round {
			t.round = w.round
			t.judgeSilence(w.at, step, &a)
			w.tell(e.Topics, t)
		}
	}
	maps.DeleteFunc(w.topics, func(_ string, t *watched) bool {
		if t.round == w.round {
			return false
		}
		for k := range Kinds {
			w.ended[k].add(t.total(k, w.at))
		}
		w.found = nil
		return true
	})
}

// matched reports whether a topic has appeared that matches the glob of expectation i.
func (w *Watch) matched(i int) bool {
	if w.found == nil {
		w.found = make([]bool, len(w.expect))
		for n := range w.expect {
			e := &w.expect[n]
			for name, t := range w.topics {
				w.found[n] = w.found[n] || !t.expected && e.Matches(name)
			}
		}
	}
	return w.found[i]
}

// tell adds the episodes of a topic that have begun or ended to the changes.
func (w *Watch) tell(name string, t *watched) {
	for k := range Kinds {
		e := &t.episodes[k]
		c := &t.counts[k]
		if e.on && e.expected && w.counts {
			c.unmet = true
		}
		if e.on == e.told {
			continue
		}
		if e.on {
			c.episodes++
			w.change = append(w.change, Change{Finding: t.named(name, k, w.at)})
		} else {
			e.until = cmp.Or(e.until, w.at)
			f := Finding{Topic: name, Kind: k, For: e.until - e.since, Expected: e.expected}
			if !e.doubted {
				c.time += f.For
			}
			w.change = append(w.change, Change{Finding: f, Over: true})
		}
		e.told = e.on
	}
}

func (t *watched) named(name string, k Kind, at time.Duration) Finding {
	f := t.finding(k, at)
	f.Topic = name
	return f
}

// End ends the watch. Expected topics of which no message came count as silent, also if there was too
// little time to say so before.
func (w *Watch) End(topics []Arrivals) {
	for i := range topics {
		if t := w.topics[topics[i].Topic]; t != nil && topics[i].Messages > 0 {
			t.any = true
		}
	}
	for _, t := range w.topics {
		if t.expect == nil || t.any || !w.counted {
			continue
		}
		c := &t.counts[Silent]
		if c.unmet = true; c.episodes == 0 {
			c.episodes, c.time = 1, w.at-t.began
		}
	}
}

// Doubt keeps the episode of wrong stamps of a topic that has just begun out of all accounts until Settle
// is called.
func (w *Watch) Doubt(topic string) {
	if t := w.topics[topic]; t != nil {
		t.counts[Stamps].episodes--
		t.episodes[Stamps].doubted = true
	}
}

// Settle counts the episode that Doubt has kept out, or takes it back: the stamps are those of another
// time, as a player repeats them.
func (w *Watch) Settle(topic string, isWrong bool) {
	t := w.topics[topic]
	if t == nil || !t.episodes[Stamps].doubted {
		return
	}
	e, c := &t.episodes[Stamps], &t.counts[Stamps]
	if e.doubted = false; !isWrong {
		t.stamps.reset()
		e.on, e.told = false, false
		return
	}
	if c.episodes++; !e.on {
		c.time += e.until - e.since
	}
}

// Findings returns what is wrong now, sorted.
func (w *Watch) Findings() (all []Finding) {
	for name, t := range w.topics {
		for k := range Kinds {
			if e := &t.episodes[k]; e.on && !e.doubted {
				all = append(all, t.named(name, k, w.at))
			}
		}
	}
	slices.SortFunc(all, Compare)
	return all
}

// Sums returns the accounts of all episodes, by topic.
func (w *Watch) Sums() (all []Sum) {
	add := func(name string, k Kind, c tally, open bool) {
		if c.episodes+c.untold > 0 {
			all = append(all,
				Sum{
					Topic: name, Kind: k, Episodes: c.episodes, Time: c.time, Open: open, Expected: c.unmet,
					Untold: c.untold,
				})
		}
	}
	for name, t := range w.topics {
		for k := range Kinds {
			e := &t.episodes[k]
			add(name, k, t.total(k, w.at), e.on && !e.doubted)
		}
	}
	for k := range Kinds {
		add(Ended, k, w.ended[k], false)
	}
	slices.SortFunc(all,
		func(a, b Sum) int { return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Kind, b.Kind)) })
	return all
}

// Usual is what has been learned of a topic.
type Usual struct {
	Topic string
	Hz    float64 // 0 if messages never came regularly, or no longer do
}

// Usual returns what has been learned of all topics, by name.
func (w *Watch) Usual() (all []Usual) {
	for name, t := range w.topics {
		u := Usual{Topic: name}
		if t.learns && t.usual.known && !t.usual.isLost() {
			u.Hz = t.usual.hz
		}
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b Usual) int { return strings.Compare(a.Topic, b.Topic) })
	return all
}
