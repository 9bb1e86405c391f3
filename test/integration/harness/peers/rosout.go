package peers

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/program/rosout"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// RosoutLine is a message of /rosout.
type RosoutLine struct {
	Level  int    `json:"level"`
	Name   string `json:"name"`
	Text   string `json:"msg"`
	Header struct {
		Seq int `json:"seq"`
	} `json:"header"`
}

// DecodeRosout decodes the payload of a message of /rosout.
func DecodeRosout(g *harness.Graph, payload []byte) (l RosoutLine) {
	g.T.Helper()
	typ, err := rosmsg.Parse(rosout.Type, rosout.Definition)
	if err != nil {
		g.T.Fatal(err)
	}
	text, err := typ.Message(payload).AppendJSON(nil)
	if err != nil || json.Unmarshal(text, &l) != nil {
		g.T.Errorf("a message of /rosout: %v: %s", err, text)
	}
	return l
}

// Rosout collects what is published on /rosout. It implements tcpros.LinkSink.
type Rosout struct {
	g *harness.Graph

	mu    sync.Mutex
	lines []RosoutLine
	peers map[string]bool // that are connected
}

// HearRosout subscribes to /rosout.
func HearRosout(g *harness.Graph) *Rosout {
	g.T.Helper()
	r := &Rosout{g: g, peers: map[string]bool{}}
	_, err := Node(g, "console").Subscribe(tcpros.SubscribeOptions{Topic: rosout.Topic, Type: rosout.Type, MD5Sum: rosout.MD5Sum, Open: func(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
		name, _ := i.Header.Get("callerid")
		r.mu.Lock()
		defer r.mu.Unlock()
		r.peers[name] = true
		return r, nil
	}})
	if err != nil {
		g.T.Fatal(err)
	}
	return r
}

// Frames implements tcpros.LinkSink.
func (r *Rosout) Frames(run []byte, _ int, _ time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(run) > 0 {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		r.lines = append(r.lines, DecodeRosout(r.g, run[4:size]))
		run = run[size:]
	}
}

// Closed implements tcpros.LinkSink.
func (r *Rosout) Closed(error) {}

// Hears waits until the lines of a node come.
func (r *Rosout) Hears(node string) {
	r.g.T.Helper()
	r.g.Eventually(node+" publishes /rosout", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.peers[node]
	})
}

// Of returns the lines of a node.
func (r *Rosout) Of(node string) (lines []RosoutLine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		if l.Name == node {
			lines = append(lines, l)
		}
	}
	return lines
}

// String lists what was heard.
func (r *Rosout) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%+v", r.lines)
}
