package info

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// pair is a key of the YAML with its value, which is a text or, if items is not nil, a list.
type pair struct {
	key   string
	value string
	from  origin
	items [][]pair
}

// origin says where a value comes from, and so whether it is quoted.
type origin uint8

const (
	// a number, or one of our words: never quoted.
	ours origin = iota
	// from the bag or the user: quoted only where YAML needs it, because rosbag info never quotes.
	theirs
	// from the bag, in lines that rosbag info does not have: always quoted.
	quoted
)

// yaml returns the value as it is written in YAML.
func (p *pair) yaml() string {
	if p.from == quoted || p.from == theirs && !isPlain(p.value) {
		return strconv.Quote(p.value) // its escapes are those of YAML, too
	}
	return p.value
}

// noText matches what YAML reads as null, a boolean, a number or a time.
var noText = lazyre.New(`^(?i:|~|null|true|false|yes|no|on|off|y|n|<<|=|` +
	`[-+]?0[xob][0-9a-f_]+|[-+]?[0-9][0-9_]*(:[0-9]+)*(\.[0-9_]*)?(e[-+]?[0-9]+)?|[-+]?\.([0-9][0-9_]*(e[-+]?[0-9]+)?|inf|nan)|` +
	`[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([t \t].*)?)$`)

// isPlain reports whether YAML reads s, without quotes, as the text s.
func isPlain(s string) bool {
	switch {
	case noText().MatchString(s), wording.Escape(s) != s,
		strings.ContainsRune("-?:,[]{}#&*!|>'\"%@` ", rune(s[0])):
		return false
	}
	return !strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") &&
		!strings.HasSuffix(s, " ")
}

// WriteYAML writes the summary as rosbag info --yaml prints it, byte for byte, with two exceptions:
// messages of bags before version 2.0 are counted by topic, where rosbag info says 0; and repeated
// messages, notes and marks of the bag are added.
func (i *Info) WriteYAML(w io.Writer) error {
	var b strings.Builder
	for _, p := range i.pairs() {
		if p.items == nil {
			fmt.Fprintf(&b, "%s: %s\n", p.key, p.yaml())
			continue
		}
		fmt.Fprintf(&b, "%s:\n", p.key)
		for _, item := range p.items {
			lead := "- "
			for _, q := range item {
				fmt.Fprintf(&b, "    %s%s: %s\n", lead, q.key, q.yaml())
				lead = "  "
			}
		}
	}
	b.WriteByte('\n') // stock prints a text that ends with a line of its own
	_, err := io.WriteString(w, b.String())
	return err
}

// pairs returns the summary in the order of the YAML.
func (i *Info) pairs() []pair {
	list := []pair{{key: "path", value: i.Path, from: theirs}, {key: "version", value: i.version()}}
	if m := i.MCAP; m != nil {
		list = append(list, pair{key: "profile", value: m.Profile, from: quoted},
			pair{key: "library", value: m.Library, from: quoted}, extraPairs("attachments", m.Attachments),
			extraPairs("metadata", m.Metadata))
	}
	size := pair{key: "size", value: fmt.Sprint(i.Size)}
	if i.empty() {
		return append(list, size, pair{key: "indexed", value: "False"})
	}
	list = append(list,
		pair{key: "duration", value: fmt.Sprintf("%.6f", i.duration())},
		pair{key: "start", value: fmt.Sprintf("%.6f", seconds(i.Start))},
		pair{key: "end", value: fmt.Sprintf("%.6f", seconds(i.End))})
	if i.Elapsed {
		list = append(list, pair{key: "elapsed", value: "True"})
	}
	list = append(list, size,
		pair{key: "messages", value: fmt.Sprint(i.Messages)},
		pair{key: "indexed", value: map[bool]string{true: "True", false: "False"}[i.Indexed]})
	list = append(list, i.compressionPairs()...)
	if i.Sampled > 0 {
		list = append(list, pair{key: "sampled_chunks", value: fmt.Sprint(i.Sampled)})
	}
	if e := i.Encryption; e != nil {
		list = append(list, pair{key: "encryption", value: e.Encryptor, from: theirs},
			pair{key: "GPG key user", value: e.User, from: theirs})
	}
	return append(append(list, i.typePairs(), i.topicPairs()), i.notePairs()...)
}

// extraPairs lists attachments or metadata records.
func extraPairs(key string, list []rosbag.MCAPExtra) pair {
	p := pair{key: key, items: [][]pair{}}
	for _, x := range list {
		p.items = append(p.items,
			[]pair{{key: "name", value: x.Name, from: quoted}, {key: "bytes", value: fmt.Sprint(x.Bytes)}})
	}
	return p
}

func (i *Info) compressionPairs() []pair {
	if i.Converted {
		return nil
	}
	if len(i.Compression) == 0 {
		return []pair{{key: "compression", value: "none"}}
	}
	list := []pair{{key: "compression", value: string(i.Compression[0].Name), from: theirs}}
	var stored, unpacked int64
	for _, p := range i.Compression {
		stored += p.StoredBytes
		unpacked += p.UncompressedBytes
	}
	if slices.ContainsFunc(i.Compression,
		func(p CompressionSum) bool { return p.Name != rosbag.CompressionNone }) {
		list = append(list, pair{key: "uncompressed", value: fmt.Sprint(unpacked)},
			pair{key: "compressed", value: fmt.Sprint(stored)})
	}
	return list
}

func (i *Info) typePairs() pair {
	p := pair{key: "types", items: [][]pair{}}
	for _, t := range i.types() {
		p.items = append(p.items,
			[]pair{{key: "type", value: t.name, from: theirs}, {key: "md5", value: t.md5, from: theirs}})
	}
	return p
}

func (i *Info) topicPairs() pair {
	p := pair{key: "topics", items: [][]pair{}}
	for _, t := range i.Topics {
		item := []pair{
			{key: "topic", value: t.Name, from: theirs},
			{key: "type", value: t.Type, from: theirs},
			{key: "messages", value: fmt.Sprint(t.Messages)},
		}
		if t.Connections > 1 {
			item = append(item, pair{key: "connections", value: fmt.Sprint(t.Connections)})
		}
		if t.Frequency > 0 {
			item = append(item, pair{key: "frequency", value: fmt.Sprintf("%.4f", t.Frequency)})
		}
		p.items = append(p.items, item)
	}
	return p
}
