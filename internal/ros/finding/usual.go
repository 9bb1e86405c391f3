package finding

import "time"

const (
	leastMessages = 10 // a topic with fewer messages says nothing about what is usual

	// proofAtFirst is how long messages have to come regularly before their absence is a finding. A topic
	// whose first message came long after the first link is one of events, such as the commands of a
	// joystick, and has to prove more. So has a topic that fell silent or slow and went on by itself:
	// four times as much each time.
	proofAtFirst = 5 * time.Second
	proofOfLate  = time.Minute
	mostProof    = 20 * time.Minute
	lateAfter    = 3 * time.Second

	// A topic is irregular if the variance of the distances of its messages is more than this share of
	// their squared mean, as that of events is, and they are at times further apart than briefGap, in
	// seconds.
	mostVariance = 0.25
	briefGap     = 0.5

	samplesKept = 32 // about how many samples the mean and the variance reach back
	gapsKept    = 5  // about how many windows the longest distance reaches back
)

// usual is what has been learned of a topic.
type usual struct {
	hz      float64 // the usual rate; 0 before it is known
	trusted bool    // messages come regularly, and have for long enough
	known   bool    // the same, but also while they have to prove themselves again
	proof   time.Duration
	// of the messages while they have to prove themselves again, in all runs, without the silences
	// between
	again struct {
		count   uint64
		seconds float64
	}

	since    time.Duration // when the present run of messages without a silence began
	count    uint64        // messages since then
	samples  int
	mean     float64 // of the distance between messages, in seconds
	variance float64
	gap      float64       // the usual longest distance between messages, in seconds
	widest   float64       // the longest distance since block
	block    time.Duration // when the window of widest began
}

// begin begins another run of messages. What was usual before still counts.
func (u *usual) begin(at time.Duration) {
	*u = usual{
		hz: u.hz, known: u.known, again: u.again, gap: u.gap, proof: max(u.proof, proofAtFirst),
		since: at, block: at, count: 1,
	}
}

// harder makes a topic prove itself for longer, after it went on by itself.
func (u *usual) harder() { u.proof = min(4*u.proof, mostProof) }

// add learns from n messages, the last of which came gap seconds after the last one before. before is the
// part of gap in which certainly no message came.
func (u *usual) add(gap, before float64, n uint64) {
	x := gap / float64(n)
	u.count += n
	if !u.trusted {
		u.again.count += n
		u.again.seconds += gap
	}
	u.samples++
	share := 1 / float64(min(u.samples, samplesKept))
	d := x - u.mean
	u.mean += share * d
	u.variance = (1 - share) * (u.variance + share*d*d)
	if n > 1 {
		gap = max(x, before)
	}
	u.widest = max(u.widest, gap)
}

// period is how far apart messages usually are, in seconds. Where they come in bursts, it is 3/5 of the
// distance of bursts, so that a topic is not silent before about three bursts are missing.
func (u *usual) period() float64 {
	p := u.mean
	if u.hz > 0 {
		p = 1 / u.hz
	}
	return max(p, u.gap*3/5)
}

// isRegular reports whether messages come regularly.
func (u *usual) isRegular() bool {
	return u.variance <= mostVariance*u.mean*u.mean || max(u.gap, u.widest) <= briefGap
}

// steady reports whether there are enough messages, and they come regularly.
func (u *usual) steady() bool { return u.count >= leastMessages && u.isRegular() }

// isLost reports whether messages that have to prove themselves again have become rarer than usual, apart
// from silences, or irregular for as long as they had to be regular.
func (u *usual) isLost() bool {
	rare := u.again.count >= leastMessages && float64(u.again.count) < slowShare*u.hz*u.again.seconds
	return !u.trusted &&
		(rare || u.again.seconds >= u.proof.Seconds() && u.count >= leastMessages && !u.isRegular())
}

// keepGap ends the window of the longest distance.
func (u *usual) keepGap(at time.Duration) {
	if u.gap == 0 {
		u.gap = u.widest
	}
	u.gap += (u.widest - u.gap) / gapsKept
	u.widest, u.block = 0, at
}

// learn decides, when messages have come, whether they are trusted to go on. last is when the last one came.
func (u *usual) learn(at, last time.Duration, w *window) {
	switch {
	case !u.trusted:
		if at-u.since < atPace(u.proof, w.least) || !u.steady() {
			return
		}
		u.again.count, u.again.seconds = 0, 0
		if u.hz == 0 {
			u.hz = float64(u.count-1) / (last - u.since).Seconds()
		}
		u.keepGap(at)
		u.trusted, u.known = true, true
		w.setPeriod(u.period(), at)
	case at-u.block >= w.length() && w.full(at):
		u.keepGap(at)
		hz := w.rate(at, slots)
		switch {
		case !u.isRegular():
			u.known = false
			u.begin(at)
			u.harder()
		case hz >= recovered*u.hz: // what is slower is not usual
			u.hz += (hz - u.hz) / 10
			w.setPeriod(u.period(), at)
		}
		if at-u.since > mostProof {
			u.proof = proofAtFirst
		}
	}
}
