// Package bags makes the bags of tests, reads bags that programs have written, and compares them.
package bags

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/diff"
	"github.com/gorosbag/gorosbag/internal/bags/diff/report"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// StringMessage is a std_msgs/String in a bag that a test creates.
type StringMessage struct {
	Topic, Node string
	Latching    bool
	At          time.Duration // after the beginning of the bag
	Text        string
}

// Start is the start time of the bags of Make.
func Start() rosbag.Time { return rosbag.Time{Sec: 1_500_000_000} }

// Make writes a bag in the directory of the graph.
func Make(g *harness.Graph, name string, messages ...StringMessage) {
	g.T.Helper()
	w := New(g.T, filepath.Join(g.Dir, name))
	conns := map[StringMessage]*rosbag.Connection{}
	slices.SortStableFunc(messages, func(a, b StringMessage) int { return int(a.At - b.At) })
	for _, m := range messages {
		key := StringMessage{Topic: m.Topic, Node: m.Node, Latching: m.Latching}
		if conns[key] == nil {
			latching := "0"
			if m.Latching {
				latching = "1"
			}
			var err error
			conns[key], err = w.AddConnection(m.Topic, rosbag.Header{
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
		if err := w.Write(conns[key], Start().Add(m.At), StringData(m.Text)); err != nil {
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

// New creates a bag file. It is complete when the Writer is closed.
func New(t *testing.T, path string) *bagfmt.Writer {
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

// Demo returns the path of the bag in the repository.
func Demo(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../../testdata/demo.bag")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Real returns the demo bag and the bags of format 2.0 in the directory that GOROSBAG_BAGS names, or in a
// directory beside the checkout.
func Real(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("GOROSBAG_BAGS")
	if dir == "" {
		dir = "../../../../shared/bags/real"
	}
	all, err := filepath.Glob(filepath.Join(dir, "*.bag"))
	if err != nil {
		t.Fatal(err)
	}
	list := []string{Demo(t)}
	for _, path := range all {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		head := make([]byte, len("#ROSBAG V2.0\n"))
		_, err = io.ReadFull(f, head)
		f.Close()
		if abs, absErr := filepath.Abs(path); err == nil && absErr == nil && string(head) == "#ROSBAG V2.0\n" {
			list = append(list, abs)
		}
	}
	if len(list) == 1 {
		t.Log("no real bags: set GOROSBAG_BAGS to a directory of V2.0 bags to test those too")
	}
	return list
}

// Names returns the finished bags whose names start with prefix, without the prefix.
func Names(g *harness.Graph, prefix string) []string {
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

// Message is one message of a topic, out of its bag.
type Message struct {
	Time     rosbag.Time
	CallerID string
	Data     []byte
}

// Topic has the connections and the messages of one topic of a bag.
type Topic struct {
	Headers  []rosbag.Header // of its connections
	Messages []Message       // in time order
}

// Read reads a whole bag into memory, by topic.
func Read(t *testing.T, path string) map[string]*Topic {
	t.Helper()
	r := openBag(t, path)
	topics := map[string]*Topic{}
	for _, c := range r.Connections() {
		topic := topics[c.Topic]
		if topic == nil {
			topic = &Topic{}
			topics[c.Topic] = topic
		}
		topic.Headers = append(topic.Headers, c.Header)
	}
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		topic := topics[m.Conn.Topic]
		topic.Messages = append(topic.Messages, Message{m.Time, m.Conn.Header.CallerID(), m.Data()})
	}
	return topics
}

// openBag opens a bag until the test ends.
func openBag(t *testing.T, path string) *bagfmt.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(f, st.Size(), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return r
}

// Same compares two bags, as gobag diff does. Each difference fails the test.
func Same(t *testing.T, a, b string) *report.Report {
	t.Helper()
	return SameTopics(t, a, b, nil)
}

// SameTopics compares some connections of two bags.
func SameTopics(t *testing.T, a, b string, keep func(*rosbag.Connection) bool) *report.Report {
	t.Helper()
	r, err := diff.Compare(t.Context(), openBag(t, a), openBag(t, b), diff.Options{Keep: keep, Details: 10})
	if err != nil {
		t.Fatal(err)
	}
	r.A.Path, r.B.Path = a, b
	if !r.Same || !r.Complete {
		var text strings.Builder
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		t.Error(text.String())
	}
	return r
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
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
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

// Hashes returns the hashes of the messages, in order.
func (d Dumped) Hashes() []string {
	all := make([]string, len(d.Messages))
	for i, m := range d.Messages {
		all[i] = m.Data
	}
	return all
}

// Dump reads a bag with rosbag's Python API, by topic and callerid.
func Dump(g *harness.Graph, bag string) map[string]Dumped {
	g.T.Helper()
	var all map[string]Dumped
	g.Python(&all, "dump.py", bag)
	return all
}

// LongestGap returns the longest time between two messages.
func LongestGap(topic *Topic) (longest time.Duration) {
	if topic == nil {
		return 0
	}
	for i := 1; i < len(topic.Messages); i++ {
		longest = max(longest, topic.Messages[i].Time.Sub(topic.Messages[i-1].Time))
	}
	return longest
}

// Annotated is what notes.py prints about a bag: its notes and marks as stock's Python reads them.
type Annotated struct {
	Tags  map[string]string // as bag-database reads /metadata
	YAML  map[string]any    // as rosbag_metadata does: its first message
	Marks [][2]any          // nanoseconds and text
	Types []string
	Back  int // messages with an earlier time than the message before
}

// Annotations returns the notes and marks of bags.
func Annotations(g *harness.Graph, bags ...string) []Annotated {
	g.T.Helper()
	harness.NeedROS(g.T)
	var out []Annotated
	g.Python(&out, "notes.py", bags...)
	return out
}
