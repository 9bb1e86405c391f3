package finding

import (
	"cmp"
	"math"
	"time"
)

// Every is how often topics are looked at.
const Every = 250 * time.Millisecond

const (
	// A topic is silent after this many usual periods without a message, but not before leastSilence.
	silentPeriods = 5
	leastSilence  = 2 * time.Second

	// A topic is slow below slowShare of its usual rate. A camera that falls to half of its rate is
	// meant, so the bound is a little more than half. It is slow until it has recovered.
	slowShare = 0.55
	recovered = 0.75

	// goesOn is how long messages have to come before a silence is over, unless they are as rare themselves.
	goesOn = time.Second

	// appearWithin is how long after the beginning an expected topic may have no message yet.
	appearWithin = 5 * time.Second
)

// Arrivals are the figures of a topic that its receiver keeps.
type Arrivals struct {
	Topic string
	// received until now
	Messages uint64
	// when the last one came, or was announced; only read if there are messages
	Last time.Time
	// header.stamp of the last message of which it is known, in nanoseconds since 1970; 0 without one
	Stamp int64
	// when that message came; only read if there is a stamp
	Stamped time.Time
	// open links to publishers
	Links int
	// links that were opened until now
	Opened int
	// the last link ended by an error of the network
	Broken bool
	// a publisher latches: the topic need not go on
	Latched bool
	// no messages can come now, because the receiver holds them up, or wants none
	Held bool
}

// patience returns how long a topic may be silent whose messages usually are a period apart, in seconds.
// step is how much time passes between looks: more than Every in a simulation that runs fast, which
// delays no message less.
func patience(period float64, step time.Duration) time.Duration {
	return max(time.Duration(min(silentPeriods*period, 1e9)*float64(time.Second)), atPace(leastSilence, step))
}

// atPace returns how much time passes in d of the wall clock if step passes between looks.
func atPace(d, step time.Duration) time.Duration {
	return time.Duration(float64(d) * step.Seconds() / Every.Seconds())
}

// episode is the time during which something was wrong with a topic.
type episode struct {
	on       bool
	told     bool // Change was returned for its beginning
	expected bool
	since    time.Duration
	until    time.Duration // when the last one ended; 0 while it goes on
	doubted  bool          // not counted yet, see Doubt
}

// topic is what is known of one topic. Times are those of Watch.
type topic struct {
	expect   *Expectation // nil for none
	learns   bool         // what was learned is a finding, too
	messages uint64
	any      bool          // there was a message
	last     time.Duration // when the last one came, or when the topic could have messages again
	began    time.Duration // when the topic was first looked at
	linked   time.Duration // when there was first a link; negative before
	resumed  time.Duration // when the first message came during a silence; negative for none
	cause    Cause         // of a silence
	left     bool          // there was no link during the silence
	links    links
	skip     bool // the distance to the next message says nothing
	untold   int  // silences that did not count, because the topic had to prove itself again
	usual    usual
	window   window
	stamps   stamps
	episodes [Kinds]episode
}

// links notices publishers that take the place of others before the topic is silent. Those are visitors:
// nodes that publish a while and leave, one after the other. Their topic comes as it likes.
type links struct {
	opened, closed int  // at the last look
	none           bool // all links had closed
	replaced       bool // a publisher has come after all others had left
}

// look notes which links were opened and closed.
func (l *links) look(a *Arrivals) {
	opened, closed := a.Opened > l.opened, a.Opened-a.Links > l.closed
	l.none = l.none || a.Links == 0 && a.Opened > 0
	if opened && (l.none || closed && a.Links <= 1) {
		l.replaced, l.none = true, false
	}
	l.opened, l.closed = a.Opened, a.Opened-a.Links
}

func newTopic(at time.Duration, e *Expectation) *topic {
	t := &topic{expect: e, learns: true, began: at, last: at, linked: -1, resumed: -1}
	t.usual.proof = proofAtFirst
	t.window.setLeast(Every, at)
	if e != nil && e.Least > 0 {
		t.window.setPeriod(1/e.Least, at)
	}
	return t
}

// rebase makes a topic go on as if its last message came now: nobody could see what came before.
func (t *topic) rebase(at time.Duration, a *Arrivals) {
	t.messages = a.Messages
	if t.last, t.skip = at, true; t.resumed >= 0 {
		t.resumed = at
	}
	t.window.reset(at)
	t.stamps.reset()
	t.stamps.received = a.Stamped.UnixNano()
}

// look takes what has come since the last look, at before. ago is how long ago the last message came, and
// step how much time passes between looks.
func (t *topic) look(before, at, step time.Duration, a *Arrivals, ago time.Duration) {
	if t.linked < 0 && a.Links > 0 {
		t.linked = at
	}
	t.links.look(a)
	if a.Messages < t.messages { // another account of the topic
		t.messages = 0
	}
	n := a.Messages - t.messages
	if a.Held {
		t.rebase(at, a)
		t.any = t.any || n > 0
		return
	}
	t.messages = a.Messages
	if t.links.replaced && n > 0 && !t.episodes[Silent].on {
		t.links.replaced = false
		t.usual.begin(at)
		t.usual.harder()
		t.window.reset(at)
		t.skip = true
	}
	if n > 0 {
		t.arrived(before, step, at-min(max(ago, 0), at-before), n, a)
	}
	t.addStamp(a, n > 0)
	t.window.add(at, n)
	t.judge(at, step, a, n > 0)
	if n > 0 && !t.episodes[Silent].on && !t.episodes[Slow].on {
		t.usual.learn(at, t.last, &t.window)
	}
}

// arrived notes n messages, the last of which came at when.
func (t *topic) arrived(before, step, when time.Duration, n uint64, a *Arrivals) {
	gap := (when - t.last).Seconds()
	if t.episodes[Silent].on && (t.resumed < 0 || before-t.last > goesOn) {
		t.resumed = when
	}
	switch {
	case !t.any:
		t.usual.begin(when)
		if t.linked >= 0 && when-t.linked > lateAfter {
			t.usual.proof = proofOfLate
		}
		t.window.reset(when)
	case t.skip:
		t.usual.count += n
	case t.episodes[Silent].on: // the distance is that of the silence
	case t.usual.samples >= 3 && when-t.last > patience(t.usual.period(), step):
		if t.usual.known && !t.usual.trusted && t.hasToGoOn(a) {
			t.untold++
		}
		t.usual.begin(when)
		t.window.reset(when)
	default:
		t.usual.add(gap, (before - t.last).Seconds(), n)
	}
	t.any, t.skip, t.last = true, false, when
}

// addStamp adds a sample of the stamps if there is another one. came says that there were messages since
// the last look: the stamp of a large one comes later, or never. A stamp of zero was not set: many nodes
// set none.
func (t *topic) addStamp(a *Arrivals, came bool) {
	switch received := a.Stamped.UnixNano(); {
	case a.Stamp == 0 && came:
		t.stamps.reset()
		t.episodes[Stamps].on = false
	case a.Stamp != 0 && received != t.stamps.received:
		t.stamps.add(a.Stamp, received)
	}
}

// judge begins and ends episodes. came says that there were messages since the last look.
func (t *topic) judge(at, step time.Duration, a *Arrivals, came bool) {
	t.judgeSilence(at, step, a)
	if t.episodes[Silent].on {
		return
	}
	t.judgeRate(at, a, came)
	t.judgeStamps(at, a)
}

// hasToGoOn reports whether silences are judged by what is usual.
func (t *topic) hasToGoOn(a *Arrivals) bool {
	return t.learns && !a.Latched && (t.expect == nil || t.expect.Least == 0)
}

// patience returns how long the topic may be silent, and whether that is expected; 0 for ever.
func (t *topic) patience(step time.Duration, a *Arrivals) (d time.Duration, isExpected bool) {
	appear := atPace(appearWithin, step)
	switch {
	case !t.any && t.expect == nil:
		return 0, false
	case !t.any && t.expect.Least > 0:
		return max(t.expect.patience(step), appear), true
	case !t.any:
		return appear, true
	case t.expect != nil && t.expect.Least > 0:
		return t.expect.patience(step), true
	case t.hasToGoOn(a) && t.usual.trusted:
		return patience(t.usual.period(), step), false
	case t.hasToGoOn(a) && t.usual.known:
		// has to prove itself again: no message for as long is a finding, too
		proof := t.usual.proof
		if a.Links == 0 { // nobody is left who could go on by himself
			proof = min(proof, proofAtFirst)
		}
		return patience(t.usual.period(), step) + atPace(proof, step), false
	}
	return 0, false
}

func (t *topic) judgeSilence(at, step time.Duration, a *Arrivals) {
	e := &t.episodes[Silent]
	if e.on {
		t.cause, t.left = silence(t, a), t.left || a.Links == 0
		rare := t.usual.period() >= goesOn.Seconds() || t.expect != nil && t.expect.Least > 0 &&
			t.expect.Least <= 1
		if t.resumed < 0 || !rare && (at-t.resumed < goesOn || at-t.last > goesOn) {
			return
		}
		e.on = false
		e.until = t.resumed
		if t.usual.begin(at); !t.left {
			t.usual.harder()
		}
		t.window.reset(at)
		t.stamps.reset()
		t.resumed = -1
		t.links.replaced = false
		return
	}
	limit, isExpected := t.patience(step, a)
	if limit == 0 || at-t.last < limit {
		return
	}
	t.resumed = -1
	t.cause, t.left = silence(t, a), a.Links == 0
	*e = episode{on: true, expected: isExpected, since: t.last}
	for k := range t.episodes { // a topic without messages is not slow
		if Kind(k) != Silent {
			t.episodes[k].on = false
		}
	}
}

// silence returns why there are no messages, as far as the links tell. While messages come again, what
// the links told before stays.
func silence(t *topic, a *Arrivals) Cause {
	switch {
	case t.resumed >= 0:
		return t.cause
	case a.Links > 0:
		return Mute
	case a.Broken:
		return Broken
	case t.linked < 0:
		return Absent
	}
	return Gone
}

// rates returns the bounds of the rate: below least the topic is slow, until it reaches again; above most
// it is fast. Without bounds all are 0.
func (t *topic) rates(a *Arrivals) (least, again, most float64, isExpected bool) {
	switch e := t.expect; {
	case !t.any:
		return 0, 0, 0, false
	case e != nil && (e.Least > 0 || !math.IsInf(e.Most, 1)):
		least = e.Least * (1 - Tolerance)
		return least, least, e.Most * (1 + Tolerance), true
	case t.learns && !a.Latched && t.usual.trusted:
		return slowShare * t.usual.hz, recovered * t.usual.hz, math.Inf(1), false
	}
	return 0, 0, 0, false
}

func (t *topic) judgeRate(at time.Duration, a *Arrivals, came bool) {
	slow, fast := &t.episodes[Slow], &t.episodes[Fast]
	least, again, most, isExpected := t.rates(a)
	if most == 0 {
		slow.on, fast.on = false, false
		return
	}
	brief, full := t.window.brief(), t.window.full(at)
	switch {
	case slow.on:
		slow.on = t.window.rate(at, brief) < again
		if !slow.on {
			t.window.reset(at)
			t.usual.begin(at)
			t.usual.harder()
		}
	case full && came && t.window.rate(at, slots) < least: // a topic that is about to be silent is not slow
		*slow = episode{on: true, expected: isExpected, since: t.window.since(at, least)}
	}
	switch {
	case fast.on:
		if fast.on = t.window.rate(at, brief) > most; !fast.on {
			t.window.reset(at)
		}
	case full && t.window.rate(at, slots) > most:
		*fast = episode{on: true, expected: true, since: at - t.window.length()}
	}
}

func (t *topic) judgeStamps(at time.Duration, a *Arrivals) {
	e := &t.episodes[Stamps]
	period := t.usual.period()
	switch {
	case e.on && t.stamps.good(period):
		e.on = false
		t.stamps.reset()
	case !e.on && t.learns && !a.Latched && t.usual.steady():
		if t.stamps.wrong(period) != NoCause {
			*e = episode{on: true, since: max(at-offInRow*Every, t.usual.since)}
		}
	}
}

// finding returns what is wrong, of an episode.
func (t *topic) finding(k Kind, at time.Duration) Finding {
	e := &t.episodes[k]
	f := Finding{Kind: k, For: max(at-e.since, 0), Expected: e.expected}
	switch k {
	case Silent:
		f.Cause = t.cause
	case Slow, Fast:
		f.Hz = t.window.rate(at, slots)
		switch {
		case k == Fast:
			f.Want = t.expect.Most
		case e.expected:
			f.Want = t.expect.Least
		default:
			f.Want = t.usual.hz
		}
	case Stamps:
		f.Cause = cmp.Or(t.stamps.wrong(t.usual.period()), Behind)
		if f.Cause == Behind || f.Cause == Ahead {
			f.Offset = t.stamps.offset
			if f.Cause = Behind; f.Offset < 0 {
				f.Cause = Ahead
			}
		}
	case Kinds:
	}
	return f
}
