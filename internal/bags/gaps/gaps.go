// Package gaps says what was wrong with the topics of a finished recording: where they were silent or
// slow, and whose stamps were off. Package finding decides, as while gorecord records. A recording does
// not know which publishers had links, so each silence counts as that of a publisher that went away: what
// gorecord has found is found, and more.
//
// Silent and slow topics are found by the index alone. Its times are taken span by span, so memory is
// that of the spans which overlap. Stamps are in the messages, which are read for them.
package gaps

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options are the options of Find.
type Options struct {
	Expect  []finding.Expectation
	Stamps  bool // look at stamps, for which all messages are read
	Workers int  // goroutines that unpack chunks for the stamps
	// Damaged is called for each error of reading. An error that Damaged returns ends Find.
	Damaged func(error) error
}

// Episode is something that was wrong with a topic for a time.
type Episode struct {
	finding.Finding             // For is the length of the episode
	Start           rosbag.Time // when it began
	Open            bool        // it has not ended at the end of the recording
}

// Report is what Find finds.
type Report struct {
	Start, End rosbag.Time
	Episodes   []Episode       // by their start
	Usual      []finding.Usual // what is usual for each topic, by name
	Latched    map[string]bool // topics with a publisher that latches
	Untold     []finding.Sum   // topics with silences that are no episodes, by name: see there

	// Nothing are the times at which no message of any topic was recorded, if there are several regular
	// topics, or for very long: a pause, the recorder was stopped, or all publishers were away.
	Nothing []Pause
}

// Pause is a time without any message.
type Pause struct {
	Start rosbag.Time
	For   time.Duration
}

// own begins the topics of gorecord itself. A mark is dated back, so it says nothing about when messages
// came.
const own = "/gorecord/"

func isOwn(topic string) bool { return topic == note.NotesTopic || strings.HasPrefix(topic, own) }

// Events reports whether the messages of a topic are events by what it is: that none comes means nothing.
func Events(topic string) bool { return isOwn(topic) || finding.Events(topic) }

const (
	// longPause is the shortest time without any message that is told.
	longPause = 2 * time.Second

	// longest is the longest time without any message that is looked through: after more than that the
	// recorder was stopped, or its clock was set, which may be a matter of decades.
	longest = time.Hour
)

// arrival is a message.
type arrival struct {
	at    int64 // nanoseconds since 1970
	topic int
	stamp int64 // 0 without one
}

// finder gives the arrivals of a recording to a Watch.
type finder struct {
	watch  *finding.Watch
	topics []finding.Arrivals
	report *Report
	open   map[key]*Episode // the episodes that have not ended
	next   int64            // the next look
	last   int64            // the last message; 0 before the first
}

type key struct {
	topic string
	kind  finding.Kind
}

// Find reads a recording.
func Find(r rosbag.Indexed, o Options) (*Report, error) {
	info := r.Info()
	f := &finder{
		watch: finding.New(o.Expect), open: map[key]*Episode{},
		report: &Report{Start: info.Start, End: info.End, Latched: map[string]bool{}},
	}
	number, stamped := f.addTopics(r)
	var err error
	if o.Stamps {
		err = readMessages(r, &o, number, stamped, f.take)
	} else {
		err = readIndexes(r, &o, number, f.take)
	}
	if err != nil {
		return nil, err
	}
	f.end()
	return f.report, nil
}

// addTopics makes the figures of topics, and returns the number of each connection's topic, and which
// connections have messages that begin with a header.
func (f *finder) addTopics(
	r rosbag.Indexed,
) (number map[*rosbag.Connection]int, stamped map[*rosbag.Connection]bool) {
	number, stamped = map[*rosbag.Connection]int{}, map[*rosbag.Connection]bool{}
	at := map[string]int{}
	for _, c := range r.Connections() {
		if isOwn(c.Topic) {
			number[c] = -1
			continue
		}
		n, ok := at[c.Topic]
		if !ok {
			n = len(f.topics)
			at[c.Topic] = n
			f.topics = append(f.topics, finding.Arrivals{Topic: c.Topic})
		}
		number[c] = n
		_, stamped[c] = stdmsg.FirstField(msgdef.DefinitionOf(c.Header))
		f.topics[n].Latched = f.topics[n].Latched || c.Header.Latching()
		f.report.Latched[c.Topic] = f.topics[n].Latched
	}
	return number, stamped
}

func nanoseconds(t rosbag.Time) int64 { return int64(t.Sec)*int64(time.Second) + int64(t.Nsec) }

// timeOf is rosbag.TimeOf for nanoseconds since 1970.
func timeOf(ns int64) rosbag.Time { return rosbag.TimeOf(time.Unix(0, max(ns, 0))) }

// take takes the next message, in the order of time.
func (f *finder) take(a arrival) {
	switch {
	case a.topic < 0:
		return
	case f.last == 0:
		f.next, f.last = a.at+int64(finding.Every), a.at
	}
	if pause := time.Duration(a.at - f.last); pause > longest || pause > longPause && f.regular() > 1 {
		f.report.Nothing = append(f.report.Nothing, Pause{timeOf(f.last), pause})
		f.next = a.at + int64(finding.Every) // the watch sees that it was stopped
	}
	f.lookUntil(a.at)
	t := &f.topics[a.topic]
	t.Messages++
	t.Last, t.Stamp = time.Unix(0, a.at), a.stamp
	t.Stamped = t.Last
	f.last = a.at
}

// regular returns how many topics come regularly.
func (f *finder) regular() (n int) {
	for _, u := range f.watch.Usual() {
		if u.Hz > 0 && !f.report.Latched[u.Topic] {
			n++
		}
	}
	return n
}

// lookUntil looks at all topics until a time.
func (f *finder) lookUntil(at int64) {
	for f.next <= at {
		now := time.Unix(0, f.next)
		for _, c := range f.watch.Look(now, now, true, f.topics) {
			f.note(c, f.next)
		}
		f.next += int64(finding.Every)
	}
}

// note notes the beginning or the end of an episode.
func (f *finder) note(c finding.Change, at int64) {
	k := key{c.Topic, c.Kind}
	if e := f.open[k]; c.Over {
		e.For, e.Open = c.For, false
		delete(f.open, k)
		f.report.Episodes = append(f.report.Episodes, *e)
		return
	}
	if c.Kind == finding.Silent { // of the publisher the recording knows nothing
		c.Cause = finding.NoCause
	}
	f.open[k] = &Episode{Finding: c.Finding, Start: timeOf(at - int64(c.For)), Open: true}
}

// end ends the recording.
func (f *finder) end() {
	rest := time.Duration(0) // at the end, not looked through
	if end := nanoseconds(f.report.End); f.last > 0 {
		until := min(end, f.last+int64(longest))
		f.lookUntil(until)
		rest = time.Duration(end - until)
	}
	for _, now := range f.watch.Findings() {
		if e := f.open[key{now.Topic, now.Kind}]; e != nil {
			e.For = now.For + rest
			f.report.Episodes = append(f.report.Episodes, *e)
		}
	}
	f.report.Usual = f.watch.Usual()
	f.report.Untold = slices.DeleteFunc(f.watch.Sums(), func(s finding.Sum) bool { return s.Untold == 0 })
	slices.SortFunc(f.report.Episodes, func(a, b Episode) int {
		return cmp.Or(a.Start.Compare(b.Start), finding.Compare(a.Finding, b.Finding))
	})
}

// readMessages takes all messages with their stamps.
func readMessages(r rosbag.Indexed, o *Options, number map[*rosbag.Connection]int,
	stamped map[*rosbag.Connection]bool, take func(arrival),
) error {
	for m, err := range rosbag.Messages(r, rosbag.Query{Workers: o.Workers, Reuse: true}) {
		if err != nil {
			if err := o.Damaged(err); err != nil {
				return err
			}
			continue
		}
		a := arrival{at: nanoseconds(m.Time), topic: number[m.Conn]}
		if stamped[m.Conn] {
			if sec, nsec, ok := stdmsg.HeaderStamp(m.Data()); ok {
				a.stamp = int64(sec)*int64(time.Second) + int64(nsec)
			}
		}
		take(a)
	}
	return nil
}

// readIndexes takes all messages that the indexes have, in the order of time: those of a span are taken
// when no later span can have earlier ones.
func readIndexes(r rosbag.Indexed, o *Options, number map[*rosbag.Connection]int, take func(arrival)) error {
	spans := r.NumSpans()
	starts := make([]int64, spans+1) // the earliest start of a span and of all after it
	starts[spans] = math.MaxInt64
	for i := spans - 1; i >= 0; i-- {
		starts[i] = min(starts[i+1], nanoseconds(r.Span(i).Start))
	}
	var waiting []arrival
	for i := range spans {
		entries, err := r.Index(i, nil)
		if err != nil {
			if err := o.Damaged(err); err != nil {
				return err
			}
		}
		for _, e := range entries {
			waiting = append(waiting, arrival{at: nanoseconds(e.Time), topic: number[e.Conn]})
		}
		slices.SortStableFunc(waiting, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
		ready := 0
		for ready < len(waiting) && waiting[ready].at <= starts[i+1] {
			take(waiting[ready])
			ready++
		}
		waiting = slices.Delete(waiting, 0, ready)
	}
	return nil
}
