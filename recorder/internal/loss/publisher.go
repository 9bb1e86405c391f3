package loss

import (
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// Grace is how long after the end of a link the master is asked whether it still lists the publisher.
const Grace = 5 * time.Second

// Publisher is what is known of one publisher of a topic besides its messages.
//
// Most links end because a node shuts down. A link counts as lost, and makes the exit code 3, only if
// nothing else explains its end:
//
//   - Grace after the end, the master still lists the same process as a publisher of the topic: the
//     process was killed, or cannot be reached; or
//   - the same process opens another link, and the last link ended within a message, or by an error of
//     the network.
//
// All others that open another link count as reconnected: a node that ended and was started again, for
// whatever reason, and a node that advertises the topic again. No link is lost while nothing is recorded,
// or while the master does not answer.
type Publisher struct {
	id    string // the name of the publisher, or the address if the header has no name
	topic topicname.InGraph
	uri   string // the address of the process that had the last link
	links int    // open links

	sequence *Sequence // the numbers on the last link; nil if the messages have no numbers
	missed   uint64    // messages that are missing in the numbers
	verified bool      // it is known whether the publisher numbers its messages itself
	foreign  bool      // another node numbers the messages: gaps mean nothing

	// when the last link ended; zero while there is a link, or if this node closed the last one
	downSince time.Time
	// how the last link ended
	end ending
	// the master does not list the publisher any more: the publisher ended as nodes do
	unregistered bool
	// the last link counts as lost, and there is no other link yet
	lostNow bool
	// links that were lost
	lost int
	// links that opened after one that was not lost
	reconnected int
	// links that opened after one that was lost
	regained int
	// time without a link, summed over all reconnected and regained links
	downtime time.Duration

	reportedMissed, reportedLost, reportedBack Reported
	reportedDowntime                           time.Duration // of downtime, with the links that came back
}

// NewPublisher returns a publisher without links: its name, or its address if its header has no name.
func NewPublisher(id string, topic topicname.InGraph) *Publisher {
	return &Publisher{id: id, topic: topic}
}

// ID returns the name of the publisher, or the address if the header has no name.
func (u *Publisher) ID() string { return u.id }

// Linked reports whether the publisher has a link.
func (u *Publisher) Linked() bool { return u.links > 0 }

// Watch returns the Sequence that finds the gaps in the numbers of a link that opens. sameProcess says that
// the process at the other end is that of the last link.
func (u *Publisher) Watch(sameProcess bool) *Sequence {
	if sameProcess && u.sequence != nil && u.links == 1 {
		u.sequence.reopened()
	} else {
		u.sequence, u.verified, u.foreign = new(Sequence), false, false
	}
	return u.sequence
}

// AddMissed counts n messages that never arrived; a negative n takes back messages that were counted by
// mistake. Only wanted messages count, which would have been recorded. verify says that the caller has to
// find out whether the publisher numbers its messages itself.
func (u *Publisher) AddMissed(n int, wanted bool) (verify bool) {
	switch {
	case u.foreign:
	case n < 0:
		u.missed -= min(u.missed, uint64(-n))
	case wanted:
		u.missed += uint64(n)
		return !u.verified
	}
	return false
}

// Unverified reports whether there are gaps, and it is not known who numbers the messages.
func (u *Publisher) Unverified() bool { return u.missed > 0 && !u.verified }

// SetForeign sets whether another node numbers the messages. If so, gaps do not count.
func (u *Publisher) SetForeign(foreign bool) {
	u.verified, u.foreign = true, foreign
	if foreign {
		u.missed = 0
	}
}

// Open counts a link that opens to a process with an address, and reports whether that is the process of
// the last link. wanted says that messages of the topic are recorded now.
func (u *Publisher) Open(uri string, wanted bool, now time.Time) (sameProcess bool) {
	sameProcess = u.uri == uri
	u.uri = uri
	u.links++
	if u.downSince.IsZero() {
		return sameProcess
	}
	switch {
	case u.lostNow:
		u.regained++
	case sameProcess && u.end != closed && wanted:
		u.lost++
	default:
		u.reconnected++
	}
	u.downtime += now.Sub(u.downSince)
	u.downSince, u.unregistered, u.lostNow = time.Time{}, false, false
	return sameProcess
}

// End counts a link that ended; err is nil if this node closed the link.
func (u *Publisher) End(err error, now time.Time) {
	if u.links--; u.links == 0 && err != nil {
		u.downSince, u.end = now, endOf(err)
	}
}

// ending is how a link ended.
type ending int

const (
	closed ending = iota // by the publisher, or by the end of its process
	cut                  // within a message, as by the end of a process that was sending
	failed               // by an error of the network
)

func endOf(err error) ending {
	switch {
	case errors.Is(err, io.EOF):
		return closed
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE):
		return cut
	}
	return failed
}

// Broken reports whether the publisher has no link since an error of the network. A process that ends,
// killed or not, closes its links.
func (u *Publisher) Broken() bool { return u.links == 0 && !u.downSince.IsZero() && u.end == failed }

// Overdue reports whether it is time to ask the master about a publisher without a link.
func (u *Publisher) Overdue(now time.Time) bool {
	return !u.downSince.IsZero() && !u.unregistered && !u.lostNow && now.Sub(u.downSince) > Grace
}

// SetListed decides about a publisher that is overdue: whether the master lists it.
func (u *Publisher) SetListed(listed bool) {
	if u.unregistered = !listed; listed {
		u.lostNow = true
		u.lost++
	}
}

// Settled reports whether everything about a publisher without a link is known and was reported.
func (u *Publisher) Settled(now time.Time) bool {
	known := u.downSince.IsZero() || u.unregistered || u.lostNow || now.Sub(u.downSince) > time.Minute
	reported := u.reportedMissed.All(u.missed) && u.reportedLost.All(uint64(u.lost)) &&
		u.reportedBack.All(uint64(u.reconnected+u.regained))
	return known && reported
}

// withoutLink returns the whole time without a link: up to now if the last link is lost.
func (u *Publisher) withoutLink(now time.Time) time.Duration {
	if u.lostNow {
		return u.downtime + now.Sub(u.downSince)
	}
	return u.downtime
}

// Summary returns what is known to be lost of the publisher at now.
func (u *Publisher) Summary(now time.Time) control.PublisherSummary {
	return control.PublisherSummary{
		CallerID: u.id, Missed: u.missed, LinksLost: u.lost,
		Reconnected: u.reconnected, Without: u.withoutLink(now), Away: u.lostNow,
	}
}

// News is what has not been reported of a publisher yet.
type News struct {
	Missed, Lost, Back uint64
	Without            time.Duration // the time without a link since it was last reported that one came back
}

// News returns what is to be reported now, and whether there is anything.
func (u *Publisher) News(now time.Time) (n News, some bool) {
	n = News{
		Lost:    u.reportedLost.Growth(uint64(u.lost), now),
		Back:    u.reportedBack.Growth(uint64(u.reconnected+u.regained), now),
		Without: u.withoutLink(now) - u.reportedDowntime,
	}
	if n.Back > 0 {
		u.reportedDowntime = u.downtime
	}
	if u.verified {
		n.Missed = u.reportedMissed.Growth(u.missed, now)
	}
	return n, n.Missed+n.Lost+n.Back > 0
}

// Reported is how much of a growing number was reported. Growth is reported at once, and then at most every
// 10 s: the summary has the whole number.
type Reported struct {
	total uint64
	at    time.Time
}

const reportEvery = 10 * time.Second

// Growth returns by how much the number has grown since the last report; zero if no report is due.
func (s *Reported) Growth(total uint64, now time.Time) uint64 {
	s.total = min(s.total, total)
	if total == s.total || now.Sub(s.at) < reportEvery {
		return 0
	}
	n := total - s.total
	*s = Reported{total, now}
	return n
}

// All reports whether nothing of a total is still to be reported.
func (s *Reported) All(total uint64) bool { return s.total == total }

// Skip notes that n more were reported elsewhere.
func (s *Reported) Skip(n uint64) { s.total += n }

// PublisherKey identifies one process that publishes a topic. URI tells the process from others of the
// same name.
type PublisherKey struct {
	Topic          topicname.InGraph
	Publisher, URI string
}

// Key returns the key of the process that had the last link.
func (u *Publisher) Key() PublisherKey { return PublisherKey{u.topic, u.id, u.uri} }
