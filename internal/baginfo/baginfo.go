// Package baginfo summarizes bags of any version: as text and YAML identical to those of
// rosbag info, and as JSON.
//
// It reads only the index, rebuilt by a scan if there is none, and messages only for details. Of
// a bag in a store it looks at a sample of the chunks (ADR 0064).
// Memory is proportional to the connections, plus 8 bytes per message for frequencies or
// details.
package baginfo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Info is the summary of one bag.
type Info struct {
	Path        string
	Version     string // of a bag; "mcap" of an MCAP file; for example "ROS 2, mcap" of a recording of ROS 2
	Converted   bool   // read as a bag, but none: nothing is known of chunks and their compression
	Indexed     bool   // the bag has a valid index
	Elapsed     bool   // times count from the start of the recording
	Detailed    bool   // Connections and Topics have details
	Size        int64
	Messages    uint64
	Chunks      int                // 0 in versions before 2.0
	Start, End  rosbag.Time        // of the earliest and the latest message
	First, Last rosbag.Time        // start of the first and end of the last chunk: what rosbag info shows
	Compression []CompressionSum   // the most used first
	Encryption  *rosbag.Encryption // nil: it is not encrypted
	MCAP        *bagfmt.MCAPInfo   // nil: it is not of MCAP files
	Repeated    rosbag.Repeated    // messages that repeat what was latched where the bag begins
	Sampled     int                // chunks that were looked at if not all: then Compression, and Frequency and Detail of topics, are estimates
	Connections []Connection
	Topics      []Topic // by name
	bagnote.Found
}

// CompressionSum summarizes the chunks of one compression.
type CompressionSum struct {
	Name              rosbag.Compression
	Chunks            int
	StoredBytes       int64
	UncompressedBytes int64
}

// Connection is one connection and its number of messages.
type Connection struct {
	*rosbag.Connection
	Messages uint64
	Bytes    uint64 // payload, if detailed
}

// Topic summarizes the connections of one topic.
type Topic struct {
	Name        string
	Type        string // of the first connection
	MD5Sum      string
	Messages    uint64
	Connections int
	Frequency   float64 // 1/median period in Hz, 0 if unknown
	Detail
}

// Options are the options of New.
type Options struct {
	// Frequencies are computed from the indexes of all chunks, which takes time
	// in proportion to the number of messages.
	Frequencies bool
	// Details need all messages to be read. They include the frequencies.
	Details bool
	// EmptyConnections keeps connections without messages, which rosbag info drops once it has
	// read the index.
	EmptyConnections bool
	// Sample, if not zero, is how many chunks of a bag with more of them are looked at. What
	// only the chunks tell is then estimated. In object storage each chunk is a request or two.
	Sample int
	// Workers unpack chunks for the details.
	Workers int
	// Damaged is called for each error of reading; an error that it returns ends New. If it
	// is nil, New ends with the first error.
	Damaged func(error) error
}

// damaged handles an error of reading.
func (o *Options) damaged(err error) error {
	if o.Damaged == nil {
		return err
	}
	return o.Damaged(err)
}

// New summarizes a recording. What only bags have, and formats that are read like them, is empty for
// others: chunks, their compression, and encryption.
func New(path string, r rosbag.Indexed, o Options) (*Info, error) {
	known := r.Info()
	i := &Info{
		Path: path, Version: known.Version, Indexed: known.Indexed, Elapsed: known.Elapsed, Size: known.Size, Messages: known.Messages,
		Start: known.Start, End: known.End, First: known.Start, Last: known.End, Repeated: known.Repeated,
	}
	bag, isBag := r.(*bagfmt.Reader)
	i.Converted = !isBag
	if s, ok := r.(interface{ MCAP() *bagfmt.MCAPInfo }); ok {
		i.MCAP = s.MCAP()
	}
	if isBag {
		i.Encryption = bag.Encryption()
		if i.MCAP != nil {
			i.Version = known.Format
		}
	}
	var sample []int
	if isBag && i.hasChunks() {
		if i.Chunks = r.NumSpans(); i.Indexed && i.Chunks > 0 && i.MCAP == nil {
			i.First, i.Last = r.Span(0).Start, r.Span(i.Chunks-1).End
		}
		sample = o.sampled(bag)
		if i.Sampled = len(sample); i.Sampled == 0 {
			if err := i.addCompression(bag, &o); err != nil {
				return nil, err
			}
		}
	}
	i.addConnections(r)
	if i.Version == "1.2" && i.Indexed {
		o.Frequencies = true // rosbag info reads this index always
	}
	i.Detailed = o.Details
	var err error
	stamps := make(map[string][]rosbag.Time)
	switch {
	case i.Sampled > 0:
	case o.Details:
		err = i.readMessages(r, &o, stamps)
	case o.Frequencies:
		err = readIndexes(r, &o, stamps)
	}
	if err != nil {
		return nil, err
	}
	if (o.Frequencies || o.Details) && !o.EmptyConnections {
		i.Connections = slices.DeleteFunc(i.Connections, func(c Connection) bool { return c.Messages == 0 })
	}
	i.addTopics(stamps)
	if i.Sampled > 0 {
		if err := i.estimate(bag, sample, &o); err != nil {
			return nil, err
		}
	}
	i.Found, err = bagnote.Read(r, o.damaged)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// hasChunks reports whether the format has chunks. In older formats the chunks of the Reader
// are ranges of the file.
func (i *Info) hasChunks() bool {
	return strings.HasPrefix(i.Version, "2.") || i.MCAP != nil && !i.Converted
}

func (i *Info) addCompression(r *bagfmt.Reader, o *Options) error {
	sums := make(map[rosbag.Compression]*CompressionSum)
	for h, err := range r.ChunkHeaders() {
		if err != nil {
			if err := o.damaged(err); err != nil {
				return err
			}
			continue
		}
		addChunk(sums, h)
	}
	i.Compression = sortedCompressions(sums)
	return nil
}

// addChunk adds a chunk to the sums by compression.
func addChunk(sums map[rosbag.Compression]*CompressionSum, h bagfmt.ChunkHeader) {
	p := sums[h.Compression]
	if p == nil {
		p = &CompressionSum{Name: h.Compression}
		sums[h.Compression] = p
	}
	p.Chunks++
	p.StoredBytes += h.StoredBytes
	p.UncompressedBytes += h.UncompressedBytes
}

// sortedCompressions returns the sums, the most used compression first.
func sortedCompressions(sums map[rosbag.Compression]*CompressionSum) []CompressionSum {
	var list []CompressionSum
	for _, p := range sums {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b CompressionSum) int {
		return cmp.Or(cmp.Compare(b.Chunks, a.Chunks), cmp.Compare(b.Name, a.Name))
	})
	return list
}

func (i *Info) addConnections(r rosbag.Source) {
	counts := rosbag.Counts(r)
	i.Connections = make([]Connection, 0, len(r.Connections()))
	for _, c := range r.Connections() {
		i.Connections = append(i.Connections, Connection{Connection: c, Messages: counts[c]})
	}
}

func (i *Info) addTopics(stamps map[string][]rosbag.Time) {
	at := make(map[string]int32, len(i.Connections))
	topicOf := make([]int32, len(i.Connections))
	for n := range i.Connections {
		name := i.Connections[n].Topic
		t, ok := at[name]
		if !ok {
			t = int32(len(at))
			at[name] = t
		}
		topicOf[n] = t
	}
	i.Topics = make([]Topic, len(at)) // at once: a Topic is large, and a bag may have a million
	for n := range i.Connections {
		c := &i.Connections[n]
		t := &i.Topics[topicOf[n]]
		if t.Connections == 0 {
			t.Name, t.Type, t.MD5Sum = c.Topic, c.Header.Type(), c.Header.MD5Sum()
		}
		t.Messages += c.Messages
		t.Bytes += c.Bytes
		t.Connections++
	}
	for n := range i.Topics {
		t := &i.Topics[n]
		list := stamps[t.Name]
		t.Frequency, _ = frequency(list) // sorts
		if i.Detailed {
			t.addGaps(list)
		}
	}
	slices.SortFunc(i.Topics, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
}

// indexesAhead is how many chunks ahead of the one whose index is read a store is asked.
const indexesAhead = 8

// readIndexes collects the times of each topic.
func readIndexes(r rosbag.Indexed, o *Options, stamps map[string][]rosbag.Time) error {
	bag, isBag := r.(*bagfmt.Reader)
	for i := range r.NumSpans() {
		if ahead := i + indexesAhead; isBag && ahead < r.NumSpans() {
			bag.PrefetchIndex(ahead)
		}
		entries, err := r.Index(i, nil)
		if err != nil {
			if err := o.damaged(err); err != nil {
				return err
			}
		}
		for _, e := range entries {
			stamps[e.Conn.Topic] = append(stamps[e.Conn.Topic], e.Time)
		}
	}
	return nil
}

// frequency returns 1/median of the periods between stamps, which it sorts. It
// computes in seconds as floating point, as rosbag info does, to get the same last
// digit.
func frequency(stamps []rosbag.Time) (float64, bool) {
	if len(stamps) < 2 {
		return 0, false
	}
	if !slices.IsSortedFunc(stamps, rosbag.Time.Compare) { // overlapping chunks
		slices.SortFunc(stamps, rosbag.Time.Compare)
	}
	periods := make([]float64, len(stamps)-1)
	for i := range periods {
		periods[i] = seconds(stamps[i+1]) - seconds(stamps[i])
	}
	return medianFrequency(periods)
}

// medianFrequency returns 1/median of periods, at least one, which it sorts.
func medianFrequency(periods []float64) (float64, bool) {
	slices.Sort(periods)
	median := periods[len(periods)/2]
	if len(periods)%2 == 0 {
		median = (periods[len(periods)/2-1] + median) / 2
	}
	if median <= 0 {
		return 0, false
	}
	return 1 / median, true
}

func seconds(t rosbag.Time) float64 { return float64(t.Sec) + float64(t.Nsec)/1e9 }

// decimalTime returns t in seconds with nine decimals. Add carries a second and more of nanoseconds.
func decimalTime(t rosbag.Time) string { return t.Add(0).String() }

// decimal returns d in seconds with nine decimals.
func decimal(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	return fmt.Sprintf("%s%d.%09d", sign, d/time.Second, d%time.Second)
}
