package loss

import (
	"errors"
	"io"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// Grace is how long after the end of a link the master is asked.
const Grace = 5 * time.Second

// Publisher is what is known of one publisher of a topic besides its messages.
//
// A link that ends is the normal end of many a node. It counts as lost, and makes the
// exit code 3, only where nothing else explains it:
//
//   - Grace after its end the master, asked for it, still lists that very process as
//     a publisher of the topic: it was killed, or cannot be reached; or
//   - the publisher, being the same process, takes it up again, but it was cut within a
//     message, or by an error of the network.
//
// All others that come back are counted as back: a node that ended and was started
// again, in good order or not, and one that advertises the topic anew. No link is lost
// while nothing is recorded, or when the master does not answer.
type Publisher struct {
	ID    string // the name of the publisher, or the address if the header has no name
	Topic string // the resolved name
	URI   string // the address of the process that had the last link
	Links int    // open links

	sequence *Sequence // the numbers on the last link; nil if the messages have no numbers
	missed   uint64    // messages that are missing in the numbers
	judged   bool      // it is known whether the publisher numbers its messages itself
	foreign  bool      // another node numbers the messages: gaps mean nothing

	down  time.Time     // since when there is no link; zero if there is a link, or we closed the last one
	cut   bool          // the last link ended within a message, or by an error of the network
	ended bool          // the master does not list the publisher any more: the publisher ended well
	gone  bool          // the last link counts as lost, and has not come back
	lost  int           // links that were lost
	back  int           // links that came back and were not lost
	found int           // links that were lost and came back
	away  time.Duration // time without a link, summed over all links that came back

	toldMissed, toldLost, toldBack Told
}

// Watch returns the Sequence that finds the gaps in the numbers of a link that opens. again says that the
// same process has the other end.
func (u *Publisher) Watch(again bool) *Sequence {
	if again && u.sequence != nil && u.Links == 1 {
		u.sequence.reopened()
	} else {
		u.sequence, u.judged, u.foreign = new(Sequence), false, false
	}
	return u.sequence
}

// AddMissed counts n messages that never arrived; a negative n takes back messages that were counted by
// mistake. wanted says that the messages would have been recorded: others do not count. verify says that
// the caller has to find out whether the publisher numbers its messages itself.
func (u *Publisher) AddMissed(n int, wanted bool) (verify bool) {
	switch {
	case u.foreign:
	case n < 0:
		u.missed -= min(u.missed, uint64(-n))
	case wanted:
		u.missed += uint64(n)
		return !u.judged
	}
	return false
}

// Unverified reports whether there are gaps, and it is not known who numbers the messages.
func (u *Publisher) Unverified() bool { return u.missed > 0 && !u.judged }

// Judge notes whether another node numbers the messages. Gaps do not count then.
func (u *Publisher) Judge(foreign bool) {
	u.judged, u.foreign = true, foreign
	if foreign {
		u.missed = 0
	}
}

// Open counts a link that opens; again says that the same process has the other end,
// wanted that its messages are recorded.
func (u *Publisher) Open(again, wanted bool, now time.Time) {
	u.Links++
	if u.down.IsZero() {
		return
	}
	switch {
	case u.gone:
		u.found++
	case again && u.cut && wanted:
		u.lost++
	default:
		u.back++
	}
	u.away += now.Sub(u.down)
	u.down, u.ended, u.gone = time.Time{}, false, false
}

// End counts a link that ended; err is nil if we closed it.
func (u *Publisher) End(err error, now time.Time) {
	if u.Links--; u.Links == 0 && err != nil {
		u.down, u.cut = now, !errors.Is(err, io.EOF)
	}
}

// Overdue reports whether it is time to ask why there is no link.
func (u *Publisher) Overdue(now time.Time) bool {
	return !u.down.IsZero() && !u.ended && !u.gone && now.Sub(u.down) > Grace
}

// Explain decides about a link that is overdue.
func (u *Publisher) Explain(listed bool) {
	if u.ended = !listed; listed {
		u.gone = true
		u.lost++
	}
}

// Settled reports whether everything about a publisher without a link is known and was reported.
func (u *Publisher) Settled(now time.Time) bool {
	known := u.down.IsZero() || u.ended || u.gone || now.Sub(u.down) > time.Minute
	told := u.toldMissed.All(u.missed) && u.toldLost.All(uint64(u.lost)) && u.toldBack.All(uint64(u.back+u.found))
	return known && told
}

// without returns the time without a link, until now where it is lost.
func (u *Publisher) without(now time.Time) time.Duration {
	if u.gone {
		return u.away + now.Sub(u.down)
	}
	return u.away
}

// Summary returns what is known to be lost of the publisher at now.
func (u *Publisher) Summary(now time.Time) control.PublisherSummary {
	return control.PublisherSummary{CallerID: u.ID, Missed: u.missed, LinksLost: u.lost, Reconnected: u.back, Without: u.without(now), Away: u.gone}
}

// News is what has not been reported of a publisher yet.
type News struct {
	Missed, Lost, Back uint64
	Without            time.Duration // the whole time without a link
}

// News returns what is to be reported now, and whether there is anything.
func (u *Publisher) News(now time.Time) (n News, some bool) {
	n = News{Lost: u.toldLost.News(uint64(u.lost), now), Back: u.toldBack.News(uint64(u.back+u.found), now), Without: u.without(now)}
	if u.judged {
		n.Missed = u.toldMissed.News(u.missed, now)
	}
	return n, n.Missed+n.Lost+n.Back > 0
}

// Told is how much of a growing number was reported. Growth is reported at once, and then every 10 s at
// most: the summary has the whole number.
type Told struct {
	total uint64
	at    time.Time
}

const reportEvery = 10 * time.Second

// News returns how much is to be reported now.
func (s *Told) News(total uint64, now time.Time) uint64 {
	s.total = min(s.total, total)
	if total == s.total || now.Sub(s.at) < reportEvery {
		return 0
	}
	n := total - s.total
	*s = Told{total, now}
	return n
}

// All reports whether nothing of a total is still to be reported.
func (s *Told) All(total uint64) bool { return s.total == total }

// Skip notes that n more were reported elsewhere.
func (s *Told) Skip(n uint64) { s.total += n }

// Doubt is a publisher about which the graph is asked. URI tells the process from others of the same name.
type Doubt struct{ Topic, Publisher, URI string }

// Doubt returns what to ask about the publisher.
func (u *Publisher) Doubt() Doubt { return Doubt{u.Topic, u.ID, u.URI} }
