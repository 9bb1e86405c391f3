package harness

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/test/bagdiff"
)

// Spoken is a message of a bag that a test makes: a std_msgs/String of one node.
type Spoken struct {
	Topic, Node string
	Latching    bool
	At          time.Duration // after the beginning of the bag
	Text        string
}

// SpokenSince is when bags that tests make begin.
func SpokenSince() bagfmt.Time { return bagfmt.Time{Sec: 1_500_000_000} }

// MakeBag writes a bag in the directory of the graph.
func (g *Graph) MakeBag(name string, messages ...Spoken) {
	g.T.Helper()
	w := NewBag(g.T, filepath.Join(g.Dir, name))
	conns := map[Spoken]*bagfmt.Connection{}
	slices.SortStableFunc(messages, func(a, b Spoken) int { return int(a.At - b.At) })
	for _, m := range messages {
		key := Spoken{Topic: m.Topic, Node: m.Node, Latching: m.Latching}
		if conns[key] == nil {
			latching := "0"
			if m.Latching {
				latching = "1"
			}
			var err error
			conns[key], err = w.AddConnection(m.Topic, bagfmt.ConnectionHeader{
				{Key: "callerid", Value: m.Node},
				{Key: "latching", Value: latching},
				{Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
				{Key: "message_definition", Value: "string data\n"},
				{Key: "topic", Value: m.Topic},
				{Key: "type", Value: "std_msgs/String"},
			})
			if err != nil {
				g.T.Fatal(err)
			}
		}
		if err := w.WriteMessage(conns[key], SpokenSince().Add(m.At), StringData(m.Text)); err != nil {
			g.T.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		g.T.Fatal(err)
	}
}

// StringData is a std_msgs/String as serialized.
func StringData(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// NewBag begins a bag in a file. It is complete when the Writer is closed.
func NewBag(t *testing.T, path string) *bagfmt.Writer {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// DemoBag is the bag that the repository ships.
func DemoBag(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../../testdata/demo.bag")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Bags returns the finished bags whose names start with prefix, without it.
func (g *Graph) Bags(prefix string) []string {
	g.T.Helper()
	all, err := filepath.Glob(filepath.Join(g.Dir, prefix+"*.bag"))
	if err != nil {
		g.T.Fatal(err)
	}
	for i, path := range all {
		all[i] = strings.TrimPrefix(filepath.Base(path), prefix)
	}
	return all
}

// Read reads a bag, by topic.
func Read(t *testing.T, path string) map[string]*bagdiff.Topic {
	t.Helper()
	topics, err := bagdiff.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return topics
}

// Size returns a file's size, -1 if it is not there.
func Size(g *Graph, name string) int64 {
	st, err := StatIn(g, name)
	if err != nil {
		return -1
	}
	return st
}

// AddMessages adds the messages of a bag to those of topics.
func AddMessages(topics map[string][]string, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := bagfmt.NewReader(f, st.Size(), bagfmt.ReaderOptions{})
	if err != nil {
		return err
	}
	for m, err := range r.All(bagfmt.Query{}) {
		if err != nil {
			return err
		}
		topics[m.Conn.Topic] = append(topics[m.Conn.Topic], string(m.Data()))
	}
	return nil
}

// Dumped is one connection of a bag as rosbag's Python API reads it.
type Dumped struct {
	Topic    string            `json:"topic"`
	Header   map[string]string `json:"header"`
	Messages []struct {
		T    int64  `json:"t"`
		Data string `json:"data"`
	} `json:"messages"`
}

// Hashes are those of the messages, in order.
func (d Dumped) Hashes() []string {
	all := make([]string, len(d.Messages))
	for i, m := range d.Messages {
		all[i] = m.Data
	}
	return all
}

// Dump reads a bag with rosbag's Python API, by topic and callerid.
func (g *Graph) Dump(bag string) map[string]Dumped {
	g.T.Helper()
	var all map[string]Dumped
	g.Python(&all, "dump.py", bag)
	return all
}

// LongestGap returns the longest time between two messages.
func LongestGap(topic *bagdiff.Topic) (longest time.Duration) {
	if topic == nil {
		return 0
	}
	for i := 1; i < len(topic.Messages); i++ {
		longest = max(longest, topic.Messages[i].Time.Sub(topic.Messages[i-1].Time))
	}
	return longest
}
