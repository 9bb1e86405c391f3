package bagfmt

import (
	"cmp"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
)

// FileMetadata is what is known about one file of a Sequence.
type FileMetadata struct {
	Name       string
	Version    string
	Size       int64
	Start, End rosbag.Time // of the earliest and latest message
	Messages   uint64
	Elapsed    bool    // times count from the start of the recording, see Reader.Elapsed
	Indexed    bool    // false if the file had to be scanned
	Damage     []error // see Reader.Damage
}

// Metadata is what is known about all files of a Sequence.
type Metadata struct {
	Files      []FileMetadata
	Size       int64
	Start, End rosbag.Time
	Messages   uint64
}

// TopicMetadata is what is known about one topic, under one type, of a Sequence.
type TopicMetadata struct {
	Topic, Type, MD5Sum string
	MessageDefinition   string // of the first connection that has one
	Messages            uint64
	Connections         int
}

// Metadata returns what is known about the files, in their order. It ignores the
// filter. The caller must not modify the Damage of a file.
func (s *Sequence) Metadata() Metadata {
	var out Metadata
	for _, m := range s.members {
		r := m.reader
		out.Files = append(out.Files, FileMetadata{
			Name: m.name, Version: r.Version(), Size: r.Size(), Start: r.Start(), End: r.End(),
			Messages: r.Messages(), Elapsed: r.Elapsed(), Indexed: r.Indexed(), Damage: r.Damage(),
		})
		if n := r.Messages(); n > 0 {
			if out.Messages == 0 || r.Start().Before(out.Start) {
				out.Start = r.Start()
			}
			if out.Messages == 0 || out.End.Before(r.End()) {
				out.End = r.End()
			}
			out.Messages += n
		}
		out.Size += r.Size()
	}
	return out
}

// Topics returns the topics of all files, sorted by topic and type. It ignores the
// filter.
func (s *Sequence) Topics() []TopicMetadata {
	var out []TopicMetadata
	type key struct{ topic, kind, sum string }
	at := make(map[key]int)
	for _, m := range s.members {
		counts := make(map[*rosbag.Connection]uint64)
		for _, c := range m.reader.Chunks() {
			for _, n := range c.Counts {
				counts[n.Conn] += uint64(n.Count)
			}
		}
		for _, c := range m.reader.Connections() {
			k := key{c.Topic, c.Header.Type(), c.Header.MD5Sum()}
			i, ok := at[k]
			if !ok {
				i = len(out)
				at[k] = i
				out = append(out, TopicMetadata{Topic: k.topic, Type: k.kind, MD5Sum: k.sum})
			}
			out[i].Messages += counts[c]
			out[i].Connections++
			if out[i].MessageDefinition == "" {
				out[i].MessageDefinition = c.Header.MessageDefinition()
			}
		}
	}
	slices.SortFunc(out, func(a, b TopicMetadata) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Type, b.Type), cmp.Compare(a.MD5Sum, b.MD5Sum))
	})
	return out
}
