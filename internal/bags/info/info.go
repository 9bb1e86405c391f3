// Package info summarizes recordings: as text and YAML, which for bags are those of rosbag info byte for
// byte, and as JSON.
//
// Options.Details asks for what rosbag info does not show: the bytes of each connection, and the Detail
// of each topic. WriteDetails and WriteJSON write them.
//
// New reads the index of a recording, and messages only for details. Of a bag in a store it looks at a sample
// of the chunks (ADR 0064). Its memory is proportional to the number of connections, plus 8 bytes for each
// message if frequencies or details are wanted.
package info

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Info is the summary of one bag.
type Info struct {
	Path        string
	Version     string // of a bag; "mcap" of an MCAP file; for example "ROS 2, mcap" of a recording of ROS 2
	Converted   bool   // the recording is of ROS 2: nothing is known of chunks and their compression
	Indexed     bool   // the bag has a valid index
	Elapsed     bool   // times count from the start of the recording
	Detailed    bool   // the details in Connections and Topics are set
	Size        int64
	Messages    uint64
	Chunks      int                // 0 in versions before 2.0
	Start, End  rosbag.Time        // of the earliest and the latest message
	Compression []CompressionSum   // the most used first
	Encryption  *rosbag.Encryption // nil: it is not encrypted
	MCAP        *rosbag.MCAPInfo   // nil: it is not of MCAP files
	Repeated    rosbag.Repeated    // messages at the start of the bag that repeat latched ones
	Connections []Connection
	Topics      []Topic // by name
	note.Found

	// Sampled is the number of chunks from which Compression, and Frequency and Detail of topics, are
	// estimated; 0 if nothing is estimated.
	Sampled int
}

// CompressionSum summarizes the chunks of one compression.
type CompressionSum struct {
	Name              rosbag.Compression `json:"-"`
	Chunks            int                `json:"chunks"`
	UncompressedBytes int64              `json:"uncompressed"`
	StoredBytes       int64              `json:"compressed"`
}

// Connection is one connection and its number of messages.
type Connection struct {
	*rosbag.Connection
	Messages uint64
	Bytes    uint64 // of all payloads; 0 if Info.Detailed is false
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
	// Frequencies asks for the frequencies of topics. Reading the indexes of all chunks for them takes
	// time in proportion to the number of messages.
	Frequencies bool
	// Details asks for the details, for which all messages are read, and for the frequencies.
	Details bool
	// EmptyConnections keeps connections without messages. rosbag info drops them whenever it reads the
	// indexes of chunks.
	EmptyConnections bool
	// Sample limits how many chunks of a bag are looked at; 0 is no limit. If the bag has more chunks, what
	// only chunks contain is estimated. In object storage each chunk costs one or two requests.
	Sample int
	// Workers is the number of goroutines that unpack chunks for the details.
	Workers int
	// Damaged is called for each error of reading. An error that Damaged returns ends New. If Damaged is nil,
	// New ends with the first error.
	Damaged func(error) error
}

// damaged passes an error of reading to Damaged, and returns the error that ends New.
func (o *Options) damaged(err error) error {
	if o.Damaged == nil {
		return err
	}
	return o.Damaged(err)
}

// New summarizes a recording. Chunks, their compression and encryption are set for bags and for MCAP files of
// ROS 1 only.
func New(path string, r rosbag.Indexed, o Options) (*Info, error) {
	known := r.Info()
	i := &Info{
		Path: path, Version: known.Version, Indexed: known.Indexed, Elapsed: known.Elapsed, Size: known.Size,
		Messages: known.Messages,
		Start:    known.Start, End: known.End, Repeated: known.Repeated,
	}
	bag, isBag := r.(*bagfmt.Reader)
	i.Converted = !isBag
	if s, ok := r.(interface{ MCAP() *rosbag.MCAPInfo }); ok {
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
		i.Chunks = r.NumSpans()
		sample = o.sampled(bag)
		if i.Sampled = len(sample); i.Sampled == 0 {
			if err := i.addCompression(bag, &o); err != nil {
				return nil, err
			}
		}
	}
	counts := rosbag.Counts(r)
	i.Connections = make([]Connection, 0, len(r.Connections()))
	for _, c := range r.Connections() {
		i.Connections = append(i.Connections, Connection{Connection: c, Messages: counts[c]})
	}
	if o.Details || i.Version == "1.2" && i.Indexed { // rosbag info always reads the index of version 1.2
		o.Frequencies = true
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
	if o.Frequencies && !o.EmptyConnections {
		i.Connections = slices.DeleteFunc(i.Connections, func(c Connection) bool { return c.Messages == 0 })
	}
	i.addTopics(stamps)
	if i.Sampled > 0 {
		if err := i.estimate(bag, sample, &o); err != nil {
			return nil, err
		}
	}
	i.Found, err = note.Read(r, o.damaged)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// hasChunks reports whether the format has chunks. In older versions of bags, the spans of the Reader are
// ranges of the file.
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

func (i *Info) addTopics(stamps map[string][]rosbag.Time) {
	at := make(map[string]int32, len(i.Connections)) // the index of a topic
	for n := range i.Connections {
		if _, known := at[i.Connections[n].Topic]; !known {
			at[i.Connections[n].Topic] = int32(len(at))
		}
	}
	i.Topics = make([]Topic, len(at)) // append would copy: a Topic is large, and a bag may have a million
	for n := range i.Connections {
		c := &i.Connections[n]
		t := &i.Topics[at[c.Topic]]
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
		t.Frequency = frequency(list) // sorts
		if i.Detailed {
			t.addGaps(list)
		}
	}
	slices.SortFunc(i.Topics, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
}

// indexesAhead is how many chunks ahead a store is asked for the indexes.
const indexesAhead = 8

// readIndexes appends the times of messages to stamps, by topic.
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
			stamps[e.Conn.Topic] = append(stamps[e.Conn.Topic], carried(e.Time))
		}
	}
	return nil
}

// frequency returns 1 divided by the median of the periods between stamps, which it sorts; 0 if that is
// not known. To get the same last digit as rosbag info, it computes as rosbag info does: in seconds, with
// floating point.
func frequency(stamps []rosbag.Time) float64 {
	if len(stamps) < 2 {
		return 0
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

// medianFrequency returns 1 divided by the median of periods, which must not be empty and are sorted; 0
// if the median is not positive.
func medianFrequency(periods []float64) float64 {
	slices.Sort(periods)
	median := periods[len(periods)/2]
	if len(periods)%2 == 0 {
		median = (periods[len(periods)/2-1] + median) / 2
	}
	if median <= 0 {
		return 0
	}
	return 1 / median
}

func seconds(t rosbag.Time) float64 { return float64(t.Sec) + float64(t.Nsec)/1e9 }

// carried returns t with less than a second of nanoseconds. In a bag there may be more, and such times sort
// before those of the next second.
func carried(t rosbag.Time) rosbag.Time { return t.Add(0) }
