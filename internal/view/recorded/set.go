// Package recorded shows open recordings as one time line: their topics, where these are dense or silent,
// and the messages at a place.
//
// A Set owns no file: its caller opens and closes the recordings. It reads what is asked for and keeps
// only what it found out about topics, in proportion to their number. It may be used by many goroutines
// at once.
package recorded

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/gaps"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/view/timeline"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Set is recordings that are one time line.
type Set struct {
	Files      []*bags.Recording
	Topics     []Topic // by name
	Start, End rosbag.Time
	Elapsed    bool   // times count from the start of a recording
	Count      uint64 // of all messages

	rows map[*rosbag.Connection]int // number of the topic
}

// Topic is what is known of a topic without its messages.
type Topic struct {
	Name, Type  string
	Connections []*rosbag.Connection
	Messages    uint64
	// a publisher is latching
	Latched bool
	// of the first chunk that has messages, and of the last one: about those of the messages
	First, Last rosbag.Time
	Period      time.Duration
	// by time: the longest ones
	Gaps []timeline.Gap
	// gaps that are not in Gaps
	More int
}

// New returns the Set of recordings that have an index: those of files, not of pipes.
func New(files []*bags.Recording) *Set {
	s := &Set{Files: files, rows: make(map[*rosbag.Connection]int)}
	byName := make(map[string]*Topic)
	for _, f := range files {
		info := f.Source.Info()
		if info.Messages > 0 {
			if s.Count == 0 || info.Start.Before(s.Start) {
				s.Start = info.Start
			}
			if s.End.Before(info.End) {
				s.End = info.End
			}
		}
		s.Count += info.Messages
		s.Elapsed = s.Elapsed || info.Elapsed
		for _, c := range f.Source.Connections() {
			t := byName[c.Topic]
			if t == nil {
				t = &Topic{Name: c.Topic, Type: c.Header.Type()}
				byName[c.Topic] = t
			}
			t.Connections = append(t.Connections, c)
			t.Latched = t.Latched || c.Header.Latching()
		}
	}
	for _, t := range byName {
		s.Topics = append(s.Topics, *t)
	}
	slices.SortFunc(s.Topics, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	for i := range s.Topics {
		for _, c := range s.Topics[i].Connections {
			s.rows[c] = i
		}
	}
	s.measure()
	return s
}

// Row returns the number of a topic.
func (s *Set) Row(topic string) (int, bool) {
	return slices.BinarySearchFunc(s.Topics, topic,
		func(t Topic, name string) int { return strings.Compare(t.Name, name) })
}

// place is a span of a file.
type place struct {
	file, number int
	*rosbag.Span
}

// messages returns how many messages are in the span.
func (p *place) messages() (n uint64) {
	for _, c := range p.Counts {
		n += uint64(c.Count)
	}
	return n
}

// spans yields all spans, in the order of the files.
func (s *Set) spans(yield func(place) bool) {
	for i, f := range s.Files {
		for n := range f.Source.NumSpans() {
			if !yield(place{i, n, f.Source.Span(n)}) {
				return
			}
		}
	}
}

// inOrder yields all spans by their start.
func (s *Set) inOrder(yield func(place) bool) {
	type key struct {
		start        rosbag.Time
		file, number int32
	}
	sorted, last := true, rosbag.Time{}
	for p := range s.spans {
		sorted = sorted && !p.Start.Before(last)
		last = p.Start
	}
	if sorted {
		s.spans(yield)
		return
	}
	var keys []key
	for p := range s.spans {
		keys = append(keys, key{p.Start, int32(p.file), int32(p.number)})
	}
	slices.SortStableFunc(keys, func(a, b key) int { return a.start.Compare(b.start) })
	for _, k := range keys {
		if !yield(place{int(k.file), int(k.number), s.Files[k.file].Source.Span(int(k.number))}) {
			return
		}
	}
}

// fewMessages is how many messages of a topic say nothing about a rate.
const fewMessages = 5

// measure finds what the spans say of each topic.
func (s *Set) measure() {
	for p := range s.spans {
		for _, c := range p.Counts {
			t := &s.Topics[s.rows[c.Conn]]
			if c.Count == 0 {
				continue
			}
			if t.Messages == 0 || p.Start.Before(t.First) {
				t.First = p.Start
			}
			if t.Last.Before(p.End) {
				t.Last = p.End
			}
			t.Messages += uint64(c.Count)
		}
	}
	if s.isSmall() {
		s.measureExactly()
		return
	}
	s.findGaps()
	again := false
	for i := range s.Topics { // a mean period is too long where there are gaps
		t := &s.Topics[i]
		if period := t.meanPeriod(); period < t.Period*9/10 {
			again = true
		}
	}
	if again {
		s.findGaps()
	}
	s.findEnds()
}

// MaxExactMessages is the most messages whose times are read for exact gaps.
const MaxExactMessages = 1_000_000

// isSmall reports whether there are so few chunks and messages that the index of each chunk can be read.
func (s *Set) isSmall() bool {
	if s.Count > MaxExactMessages {
		return false
	}
	n := 0
	for _, f := range s.Files {
		if n += f.Source.NumSpans(); n > MaxExact || store.Remote(f.Name) {
			return false
		}
	}
	return true
}

// measureExactly finds the gaps between the messages themselves, and when the first and the last one came.
func (s *Set) measureExactly() {
	times := make([][]rosbag.Time, len(s.Topics))
	for p := range s.inOrder {
		entries, err := s.Files[p.file].Source.Index(p.number, nil)
		if err != nil && len(entries) == 0 {
			for _, c := range p.Counts {
				if c.Count > 0 {
					times[s.rows[c.Conn]] = append(times[s.rows[c.Conn]], p.Start, p.End)
				}
			}
		}
		for _, e := range entries {
			times[s.rows[e.Conn]] = append(times[s.rows[e.Conn]], e.Time)
		}
	}
	for i, list := range times {
		t := &s.Topics[i]
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, rosbag.Time.Compare)
		t.First, t.Last = list[0], list[len(list)-1]
		if t.meanPeriod() > 0 { // otherwise too few messages, latched ones, or events
			t.Period = usualPeriod(list)
		}
		silence := timeline.NewSilence(t.Period)
		silence.From(s.Start)
		for _, at := range list {
			silence.See(at, at)
		}
		silence.See(s.End, s.End)
		t.Gaps, t.More = silence.Gaps, silence.More
	}
}

// usualPeriod returns the mean of the usual times between messages: nine in ten, what is like them, and
// what is brief. It is 0 if these differ much and are long, as those of events.
func usualPeriod(list []rosbag.Time) time.Duration {
	periods := make([]time.Duration, 0, len(list))
	for i := 1; i < len(list); i++ {
		periods = append(periods, list[i].Sub(list[i-1]))
	}
	slices.Sort(periods)
	median, long := periods[len(periods)/2], periods[len(periods)*9/10]
	if long > 2*median && long > brief {
		return 0
	}
	sum, n, most := time.Duration(0), 0, max(2*long, brief)
	for n < len(periods) && periods[n] <= most {
		sum += periods[n]
		n++
	}
	return sum / time.Duration(n)
}

// brief is a time between messages after which nobody says that a topic is silent, as in package finding.
const brief = 500 * time.Millisecond

// maxEnds is how many chunks are looked at to find when topics have stopped.
const maxEnds = 64

// findEnds finds when exactly the topics have stopped that end with a gap.
func (s *Set) findEnds() {
	last := make(map[int]place) // by topic
	for i := range s.Topics {
		if g := s.Topics[i].Gaps; len(g) > 0 && g[len(g)-1].To == s.End {
			last[i] = place{file: -1}
		}
	}
	for p := range s.spans {
		for _, c := range p.Counts {
			row := s.rows[c.Conn]
			if old, wanted := last[row]; wanted && c.Count > 0 && (old.file < 0 || old.End.Before(p.End)) {
				last[row] = p
			}
		}
	}
	read := make(map[[2]int][]rosbag.Entry)
	room := uint64(MaxExactMessages)
	for row, p := range last {
		key := [2]int{p.file, p.number}
		if p.file < 0 || read[key] == nil && (len(read) >= maxEnds || p.messages() > room) {
			continue
		}
		if read[key] == nil {
			room -= p.messages()
		}
		if read[key] == nil {
			// without an index the end of the chunk stays
			read[key], _ = s.Files[p.file].Source.Index(p.number, nil)
		}
		t := &s.Topics[row]
		for _, e := range read[key] {
			if s.rows[e.Conn] == row {
				t.Last = e.Time // the latest one comes last
				t.Gaps[len(t.Gaps)-1].From = e.Time
			}
		}
	}
}

// meanPeriod returns the mean time between messages outside of the gaps that are known; 0 if that means
// nothing.
func (t *Topic) meanPeriod() time.Duration {
	if t.Latched || t.Messages < fewMessages || gaps.Events(t.Name) {
		return 0
	}
	active, n := t.Last.Sub(t.First), t.Messages-1
	for _, g := range t.Gaps {
		if !g.From.Before(t.First) && !t.Last.Before(g.To) {
			active -= g.Len()
		}
	}
	return max(active, 0) / time.Duration(n)
}

func (s *Set) findGaps() {
	all := make([]*timeline.Silence, len(s.Topics))
	for i := range s.Topics {
		t := &s.Topics[i]
		t.Period = t.meanPeriod()
		all[i] = timeline.NewSilence(t.Period)
		all[i].From(s.Start)
	}
	for p := range s.inOrder {
		for _, c := range p.Counts {
			if c.Count > 0 {
				all[s.rows[c.Conn]].See(p.Start, p.End)
			}
		}
	}
	for i, silence := range all {
		if s.Topics[i].Messages > 0 {
			silence.See(s.End, s.End)
		}
		s.Topics[i].Gaps, s.Topics[i].More = silence.Gaps, silence.More
	}
}

// workers unpack chunks ahead of a reader: the screen waits for one of them.
const workers = 2

// Messages returns the messages of topics from start to end, by time; an error of damage in place of a
// message. They end with ctx, with its error.
func (s *Set) Messages(ctx context.Context, keep func(*rosbag.Connection) bool, start,
	end rosbag.Time,
) iter.Seq2[*rosbag.Message, error] {
	return func(yield func(*rosbag.Message, error) bool) {
		files := make([]rosbag.File, len(s.Files))
		for i, f := range s.Files {
			files[i] = rosbag.FileOf(f.Name, f.Source)
		}
		q := rosbag.NewSequence(files, rosbag.SequenceOptions{})
		defer q.Close()
		q.SetFilter(rosbag.Query{Keep: keep, Start: start, End: end, Workers: workers, Cancel: ctx.Done()})
		for q.HasNext() {
			m, err := q.Next()
			if ctx.Err() != nil {
				yield(nil, cmp.Or(context.Cause(ctx), ctx.Err()))
				return
			}
			if errors.Is(err, rosbag.ErrCanceled) || !yield(m, err) {
				return
			}
		}
	}
}

// SpanAt returns the time of what is at an offset of a file, about.
func (s *Set) SpanAt(file int, offset int64) (t rosbag.Time, ok bool) {
	source := s.Files[file].Source
	for n := range source.NumSpans() {
		span := source.Span(n)
		if span.Pos > offset {
			break
		}
		t, ok = span.End, true
	}
	return t, ok
}

// Bytes returns about how many bytes of the files hold the messages of topics from start to end, and how
// many of these there are: from the chunk infos alone.
func (s *Set) Bytes(keep func(row int) bool, start, end rosbag.Time) (bytes, messages uint64) {
	for _, f := range s.Files {
		source := f.Source
		size := float64(source.Info().Size) / float64(max(1, source.NumSpans()))
		for n := range source.NumSpans() {
			p := source.Span(n)
			if p.End.Before(start) || end.Before(p.Start) {
				continue
			}
			if b := f.Bag(); b != nil {
				size = float64(b.ExtentEnd(n) - p.Pos)
			}
			share := 1.0
			if whole := p.End.Sub(p.Start); whole > 0 {
				from, to := max(0, start.Sub(p.Start)), min(whole, end.Sub(p.Start))
				share = float64(to-from) / float64(whole)
			}
			all, wanted := 0.0, 0.0
			for _, c := range p.Counts {
				all += float64(c.Count)
				if keep(s.rows[c.Conn]) {
					wanted += float64(c.Count)
				}
			}
			if all > 0 {
				bytes += uint64(size * share * wanted / all)
				messages += uint64(wanted*share + 0.5)
			}
		}
	}
	return bytes, messages
}
