package info

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	// The size in bytes of a message record without the payload, in the form that all known writers use.
	messageOverhead     = 46
	mcapMessageOverhead = 31
	// minPeriods is the least number of periods in a sample whose median is used; with fewer periods the
	// average of the whole bag is.
	minPeriods = 5
)

// sampled returns the indexes of the chunks to look at, evenly spread; nil for all chunks.
func (o *Options) sampled(r *bagfmt.Reader) []int {
	n := r.NumSpans()
	if o.Sample == 0 || n <= o.Sample || !r.Info().Indexed {
		return nil
	}
	list := make([]int, o.Sample)
	for k := range list {
		list[k] = k * (n - 1) / max(o.Sample-1, 1)
	}
	for _, i := range list {
		r.PrefetchIndex(i)
	}
	return list
}

// estimate extrapolates from a sample of the chunks to all chunks.
type estimate struct {
	info    *Info
	sizes   map[*rosbag.Connection]*messageSizes
	periods map[string][]float64 // seconds, by topic
}

// messageSizes are the sizes in bytes of messages of a connection in the sample.
type messageSizes struct {
	sum, count uint64 // of the messages whose sizes are known
	// most bounds the size of a message that a connection record may follow, so that its size is not known; 0
	// if there is no such message.
	most uint64
}

// estimate sets what only chunks contain, from a sample of them: compression, frequencies, bytes and gaps.
func (i *Info) estimate(r *bagfmt.Reader, chunks []int, o *Options) error {
	e := estimate{info: i, sizes: map[*rosbag.Connection]*messageSizes{}, periods: map[string][]float64{}}
	sums := make(map[rosbag.Compression]*CompressionSum)
	var looked int64 // bytes of the file
	for _, n := range chunks {
		h, err := r.ChunkHeader(n)
		if err != nil {
			if err := o.damaged(err); err != nil {
				return err
			}
			continue
		}
		addChunk(sums, h)
		looked += r.ExtentEnd(n) - r.Span(n).Pos
		if !o.Frequencies {
			continue
		}
		entries, err := r.Index(n, nil)
		if err != nil {
			if err := o.damaged(err); err != nil {
				return err
			}
			continue
		}
		e.addPeriods(entries)
		e.addSizes(entries, uint64(h.UncompressedBytes))
	}
	if looked > 0 {
		e.scale(sums, float64(r.ExtentEnd(r.NumSpans()-1)-r.Span(0).Pos)/float64(looked), len(chunks))
	}
	if o.Frequencies {
		e.finish(r, o.Details)
	}
	return nil
}

// scale extrapolates the sums of a sample to all chunks.
func (e *estimate) scale(sums map[rosbag.Compression]*CompressionSum, factor float64, looked int) {
	for _, p := range sums {
		p.Chunks = int(math.Round(float64(p.Chunks*e.info.Chunks) / float64(looked)))
		p.StoredBytes = int64(float64(p.StoredBytes) * factor)
		p.UncompressedBytes = int64(float64(p.UncompressedBytes) * factor)
	}
	e.info.Compression = sortedCompressions(sums)
}

// addPeriods adds the periods between the messages of one chunk, whose entries are in the order of time.
func (e *estimate) addPeriods(entries []rosbag.Entry) {
	last := make(map[string]rosbag.Time)
	for _, x := range entries {
		topic := x.Conn.Topic
		if before, ok := last[topic]; ok {
			e.periods[topic] = append(e.periods[topic], seconds(x.Time)-seconds(before))
		}
		last[topic] = x.Time
	}
}

// addSizes adds the sizes of the messages of one chunk, which are the distances between their
// records. Before the first message of a connection there may be its connection record.
func (e *estimate) addSizes(entries []rosbag.Entry, end uint64) {
	slices.SortFunc(entries, func(a, b rosbag.Entry) int { return cmp.Compare(a.Offset, b.Offset) })
	seen := make(map[*rosbag.Connection]bool)
	overhead := uint64(messageOverhead)
	if e.info.MCAP != nil {
		overhead = mcapMessageOverhead
	}
	for n, x := range entries {
		seen[x.Conn] = true
		next, exact := end, true
		if n+1 < len(entries) {
			next, exact = uint64(entries[n+1].Offset), seen[entries[n+1].Conn]
		}
		if next < uint64(x.Offset)+overhead {
			continue // the index is damaged
		}
		s := e.sizes[x.Conn]
		if s == nil {
			s = &messageSizes{}
			e.sizes[x.Conn] = s
		}
		size := next - uint64(x.Offset) - overhead
		switch {
		case exact:
			s.sum += size
			s.count++
		case s.most == 0 || size < s.most:
			s.most = size
		}
	}
}

// finish sets the estimates of connections and topics.
func (e *estimate) finish(r rosbag.Source, details bool) {
	i := e.info
	spans := spansOf(r)
	for n := range i.Topics {
		t := &i.Topics[n]
		s := spans[t.Name]
		if s == nil {
			continue // a topic without messages
		}
		if p := e.periods[t.Name]; len(p) >= minPeriods {
			t.Frequency = medianFrequency(p)
		} else if d := seconds(s.last) - seconds(s.first); t.Messages > 1 && d > 0 {
			t.Frequency = float64(t.Messages-1) / d
		}
		if details {
			t.LongestGap, t.GapAt = s.gap, s.gapAt
		}
	}
	if !details {
		return
	}
	bytes := make(map[string]uint64)
	for n := range i.Connections {
		c := &i.Connections[n]
		s := e.sizes[c.Connection]
		switch {
		case s == nil:
		case s.count > 0:
			c.Bytes = uint64(float64(c.Messages) * float64(s.sum) / float64(s.count))
		default:
			c.Bytes = c.Messages * s.most
		}
		bytes[c.Topic] += c.Bytes
	}
	for n := range i.Topics {
		i.Topics[n].Bytes = bytes[i.Topics[n].Name]
	}
}

// span is what is known of a topic from the times and counts of chunks.
type span struct {
	// start and end of the chunks that have messages of the topic
	first, last rosbag.Time
	// the longest time between two of these chunks: the topic was silent at least as long
	gap time.Duration
	// when gap began
	gapAt rosbag.Time
}

// spansOf returns the span of each topic.
func spansOf(r rosbag.Source) map[string]*span {
	chunks := make([]*rosbag.Span, r.NumSpans())
	for i := range chunks {
		chunks[i] = r.Span(i)
	}
	slices.SortStableFunc(chunks, func(a, b *rosbag.Span) int { return a.Start.Compare(b.Start) })
	spans := make(map[string]*span)
	for _, c := range chunks {
		for _, n := range c.Counts {
			s := spans[n.Conn.Topic]
			switch {
			case n.Count == 0:
				continue
			case s == nil:
				spans[n.Conn.Topic] = &span{first: c.Start, last: c.End}
				continue
			}
			if gap := c.Start.Sub(s.last); gap > s.gap {
				s.gap, s.gapAt = gap, s.last
			}
			if s.last.Before(c.End) {
				s.last = c.End
			}
		}
	}
	return spans
}
