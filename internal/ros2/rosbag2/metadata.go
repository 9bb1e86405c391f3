package rosbag2

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Version is the version of metadata.yaml that is written: humble, iron, jazzy and later read it.
// Version 9 cannot be read by humble and iron.
const Version = 8

// MaxMetadataBytes bounds the text of metadata.yaml. A topic has about 600 bytes, a file 250.
const MaxMetadataBytes = 4 << 20

// MetadataName is the name of the file that describes a recording.
const MetadataName = "metadata.yaml"

// wrapper is the key of metadata.yaml that contains all others. The copies in storage files have no such key.
const wrapper = "rosbag2_bagfile_information"

// Metadata is what metadata.yaml says about a recording. Times are nanoseconds since 1970.
type Metadata struct {
	Version           int    // of the text that was read; writing ignores it
	Storage           string // MCAP or SQLite; empty means unknown
	Start, Duration   int64
	Messages          uint64
	Topics            []TopicCount
	CompressionFormat string // such as "zstd"; empty means none. It is not that of MCAP's chunks
	CompressionMode   string // "file", "message" or empty
	Paths             []string
	Files             []File // since version 5
	Custom            map[string]string
	Distro            string // that recorded, such as "humble"; may be empty
}

// TopicCount is a topic and the number of its messages. metadata.yaml has no definitions.
type TopicCount struct {
	Topic
	Messages uint64
}

// File is a storage file of a recording.
type File struct {
	Path            string
	Start, Duration int64
	Messages        uint64
}

// ParseMetadata parses the text of metadata.yaml of versions 1 to 9, or the copy in a storage file, which
// has no rosbag2_bagfile_information around it. Keys of later versions are ignored.
func ParseMetadata(text []byte) (*Metadata, error) {
	if len(text) > MaxMetadataBytes {
		return nil, fmt.Errorf("has %d bytes; at most %d are read", len(text), MaxMetadataBytes)
	}
	n, err := parseYAML(text)
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, errors.New("is empty")
	}
	root, err := mapping(n, MetadataName)
	if err != nil {
		return nil, err
	}
	if in := root.get(wrapper); in != nil {
		if root, err = mapping(in, wrapper); err != nil {
			return nil, err
		}
	}
	return metadata(root)
}

// metadata reads the mapping of everything.
func metadata(m *yamlMap) (*Metadata, error) {
	m.must("version")
	md := &Metadata{
		Version:           int(min(m.uint("version"), 1<<30)),
		Storage:           m.text("storage_identifier"),
		Messages:          m.uint("message_count"),
		CompressionFormat: m.text("compression_format"),
		CompressionMode:   strings.ToLower(m.text("compression_mode")),
		Distro:            m.text("ros_distro"),
	}
	md.Start, md.Duration = m.times()
	for _, n := range m.list("topics_with_message_count") {
		t, err := topicCount(n)
		if err != nil {
			return nil, err
		}
		md.Topics = append(md.Topics, t)
	}
	for _, n := range m.list("relative_file_paths") {
		if n.Kind != yaml.ScalarNode {
			return nil, at(n, "a path is %s; want a text", shown(n))
		}
		md.Paths = append(md.Paths, n.Value)
	}
	for _, n := range m.list("files") {
		f, err := file(n)
		if err != nil {
			return nil, err
		}
		md.Files = append(md.Files, f)
	}
	custom := m.sub("custom_data")
	for i := 0; i+1 < len(custom.node.Content); i += 2 {
		k, v := custom.node.Content[i], custom.node.Content[i+1]
		if k.Kind == yaml.ScalarNode && v.Kind == yaml.ScalarNode {
			if md.Custom == nil {
				md.Custom = map[string]string{}
			}
			md.Custom[k.Value] = v.Value
		}
	}
	return md, m.err
}

// times returns the start and the duration of a recording or file.
func (m *yamlMap) times() (start, duration int64) {
	s, d := m.sub("starting_time"), m.sub("duration")
	start, duration = s.int("nanoseconds_since_epoch"), d.int("nanoseconds")
	m.fail(cmp.Or(s.err, d.err))
	return start, duration
}

func file(n *yaml.Node) (File, error) {
	m, err := mapping(n, "a file")
	if err != nil {
		return File{}, err
	}
	f := File{Path: m.text("path"), Messages: m.uint("message_count")}
	f.Start, f.Duration = m.times()
	return f, m.err
}

func topicCount(n *yaml.Node) (TopicCount, error) {
	m, err := mapping(n, "a topic")
	if err != nil {
		return TopicCount{}, err
	}
	t := m.sub("topic_metadata")
	t.must("name")
	t.must("type")
	c := TopicCount{Messages: m.uint("message_count"), Topic: Topic{
		Name: t.text("name"), Type: t.text("type"), Serialization: t.text("serialization_format"),
		Hash: t.text("type_description_hash"),
	}}
	if q := t.get("offered_qos_profiles"); q != nil && q.Kind == yaml.SequenceNode { // since version 9
		all, err := profiles(q)
		if err != nil {
			return TopicCount{}, fmt.Errorf("topic %q: %w", c.Name, err)
		}
		c.QoS = FormatQoS(all)
	} else {
		c.QoS = t.text("offered_qos_profiles")
	}
	return c, cmp.Or(m.err, t.err)
}

// Text returns metadata.yaml. Storage files contain the text of Inner.
func (md *Metadata) Text() string {
	var b strings.Builder
	b.WriteString(wrapper + ":\n")
	for line := range strings.Lines(md.Inner()) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// Inner returns the text of metadata.yaml without rosbag2_bagfile_information around it.
func (md *Metadata) Inner() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("version: %d", Version)
	line("storage_identifier: %s", md.Storage)
	line("duration:\n  nanoseconds: %d", md.Duration)
	line("starting_time:\n  nanoseconds_since_epoch: %d", md.Start)
	line("message_count: %d", md.Messages)
	list := func(indent, key string, n int) {
		if n == 0 {
			line("%s%s: []", indent, key)
		} else {
			line("%s%s:", indent, key)
		}
	}
	list("", "topics_with_message_count", len(md.Topics))
	var topic []byte
	for _, t := range md.Topics { // of which there may be tens of thousands
		topic = appendQuoted(append(topic[:0], "  - topic_metadata:\n      name: "...), t.Name)
		topic = appendQuoted(append(topic, "\n      type: "...), t.Type)
		topic = appendQuoted(append(topic, "\n      serialization_format: "...), t.Serialization)
		topic = appendQuoted(append(topic, "\n      offered_qos_profiles: "...), t.QoS)
		topic = appendQuoted(append(topic, "\n      type_description_hash: "...), t.Hash)
		topic = strconv.AppendUint(append(topic, "\n    message_count: "...), t.Messages, 10)
		b.Write(append(topic, '\n'))
	}
	line("compression_format: %s\ncompression_mode: %s", quote(md.CompressionFormat),
		quote(md.CompressionMode))
	list("", "relative_file_paths", len(md.Paths))
	for _, p := range md.Paths {
		line("  - %s", quote(p))
	}
	list("", "files", len(md.Files))
	for _, f := range md.Files {
		line("  - path: %s", quote(f.Path))
		line("    starting_time:\n      nanoseconds_since_epoch: %d", f.Start)
		line("    duration:\n      nanoseconds: %d\n    message_count: %d", f.Duration, f.Messages)
	}
	if len(md.Custom) == 0 {
		line("custom_data: ~")
	} else {
		line("custom_data:")
	}
	for _, k := range slices.Sorted(maps.Keys(md.Custom)) {
		line("  %s: %s", quote(k), quote(md.Custom[k]))
	}
	line("ros_distro: %s", quote(md.Distro))
	return b.String()
}

// quote returns a text as a double-quoted scalar of YAML. Bytes that are not UTF-8 become U+FFFD:
// YAML has none.
func quote(s string) string { return string(appendQuoted(nil, s)) }

// appendQuoted appends what quote returns.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s { // of invalid UTF-8, r is U+FFFD
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r < ' ' || r == 0x7f:
			b = fmt.Appendf(b, `\x%02x`, r)
		case r < 0x7f:
			b = append(b, byte(r))
		case strconv.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return append(b, '"')
}
