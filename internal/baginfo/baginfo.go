// Package baginfo summarizes a bag from its index, without reading messages: as
// text exactly like that of rosbag info, and as JSON.
//
// It holds numbers per connection and topic only, and 8 bytes per message if
// frequencies are asked for, so that it serves bags of any size.
package baginfo

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// Info is the summary of one bag.
type Info struct {
	Path        string
	Version     string
	Size        int64
	Messages    uint64
	Chunks      int
	Start, End  bagfmt.Time // of the earliest and the latest message
	First, Last bagfmt.Time // start of the first and end of the last chunk: what rosbag info shows
	Compression []Packed    // the most used first
	Connections []Connection
	Topics      []Topic // by name
}

// Packed sums up the chunks of one compression.
type Packed struct {
	Name              bagfmt.Compression
	Chunks            int
	StoredBytes       int64
	UncompressedBytes int64
}

// Connection is one connection and its number of messages.
type Connection struct {
	*bagfmt.Connection
	Messages uint64
}

// Topic sums up the connections of one topic.
type Topic struct {
	Name        string
	Type        string // of the first connection
	MD5Sum      string
	Messages    uint64
	Connections int
	Frequency   float64 // 1/median period in Hz, 0 if unknown
}

// Options says what to look at.
type Options struct {
	// Frequencies are computed from the indexes of all chunks, which takes time
	// in proportion to the number of messages.
	Frequencies bool
}

// New summarizes the bag that r reads.
func New(path string, r *bagfmt.Reader, o Options) (*Info, error) {
	i := &Info{
		Path: path, Version: r.Version(), Size: r.Size(), Messages: r.Messages(),
		Chunks: len(r.Chunks()), Start: r.Start(), End: r.End(),
	}
	if chunks := r.Chunks(); len(chunks) > 0 {
		i.First, i.Last = chunks[0].Start, chunks[len(chunks)-1].End
	}
	if err := i.addCompression(r); err != nil {
		return nil, err
	}
	i.addConnections(r)
	var topics map[string]float64
	if o.Frequencies {
		var err error
		if topics, err = frequencies(r); err != nil {
			return nil, err
		}
		// As rosbag info, which drops connections without messages once it has read
		// the index.
		i.Connections = slices.DeleteFunc(i.Connections, func(c Connection) bool { return c.Messages == 0 })
	}
	i.addTopics(topics)
	return i, nil
}

func (i *Info) addCompression(r *bagfmt.Reader) error {
	sums := make(map[bagfmt.Compression]*Packed)
	for n := range r.Chunks() {
		h, err := r.ChunkHeader(n)
		if err != nil {
			return err
		}
		p := sums[h.Compression]
		if p == nil {
			p = &Packed{Name: h.Compression}
			sums[h.Compression] = p
		}
		p.Chunks++
		p.StoredBytes += h.StoredBytes
		p.UncompressedBytes += h.UncompressedBytes
	}
	for _, p := range sums {
		i.Compression = append(i.Compression, *p)
	}
	slices.SortFunc(i.Compression, func(a, b Packed) int {
		return cmp.Or(cmp.Compare(b.Chunks, a.Chunks), cmp.Compare(b.Name, a.Name))
	})
	return nil
}

func (i *Info) addConnections(r *bagfmt.Reader) {
	at := make(map[*bagfmt.Connection]int)
	for n, c := range r.Connections() {
		at[c] = n
		i.Connections = append(i.Connections, Connection{Connection: c})
	}
	for _, chunk := range r.Chunks() {
		for _, n := range chunk.Counts {
			i.Connections[at[n.Conn]].Messages += uint64(n.Count)
		}
	}
}

func (i *Info) addTopics(frequency map[string]float64) {
	at := make(map[string]int)
	for _, c := range i.Connections {
		n, ok := at[c.Topic]
		if !ok {
			n = len(i.Topics)
			at[c.Topic] = n
			i.Topics = append(i.Topics, Topic{
				Name: c.Topic, Type: c.Header.Type(), MD5Sum: c.Header.MD5Sum(), Frequency: frequency[c.Topic],
			})
		}
		i.Topics[n].Messages += c.Messages
		i.Topics[n].Connections++
	}
	slices.SortFunc(i.Topics, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
}

// frequencies returns 1/median period of each topic that has one.
func frequencies(r *bagfmt.Reader) (map[string]float64, error) {
	stamps := make(map[string][]bagfmt.Time)
	for i := range r.Chunks() {
		entries, err := r.ChunkIndex(i, nil)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			stamps[e.Conn.Topic] = append(stamps[e.Conn.Topic], e.Time)
		}
	}
	out := make(map[string]float64, len(stamps))
	for topic, list := range stamps {
		if f, ok := frequency(list); ok {
			out[topic] = f
		}
	}
	return out, nil
}

// frequency returns 1/median of the periods between stamps, which it sorts. It
// computes in seconds as floating point, as rosbag info does, to get the same last
// digit.
func frequency(stamps []bagfmt.Time) (float64, bool) {
	if len(stamps) < 2 {
		return 0, false
	}
	if !slices.IsSortedFunc(stamps, bagfmt.Time.Compare) { // overlapping chunks
		slices.SortFunc(stamps, bagfmt.Time.Compare)
	}
	periods := make([]float64, len(stamps)-1)
	for i := range periods {
		periods[i] = seconds(stamps[i+1]) - seconds(stamps[i])
	}
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

func seconds(t bagfmt.Time) float64 { return float64(t.Sec) + float64(t.Nsec)/1e9 }

// decimal returns d in seconds with nine decimals.
func decimal(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	return fmt.Sprintf("%s%d.%09d", sign, d/time.Second, d%time.Second)
}
