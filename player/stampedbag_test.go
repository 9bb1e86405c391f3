package player

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// The types of stamped test messages.
const (
	sensorText = "Header header\nint32 n"
	pathText   = "Header header\nSensor[] poses"
)

// stampedConns are the connections of stamped test messages, by topic.
var stampedConns = map[string]struct {
	typ, definition string
	latching        bool
}{
	"/s":     {"a/Sensor", sensorText + testplay.HeaderBlock, false},
	"/s2":    {"a/Sensor", sensorText + testplay.HeaderBlock, false},
	"/map":   {"a/Sensor", sensorText + testplay.HeaderBlock, true},
	"/path":  {"a/Path", pathText + "\n" + strings.Repeat("=", 80) + "\nMSG: a/Sensor\n" + sensorText + testplay.HeaderBlock, false},
	"/tf":    {"tf2_msgs/TFMessage", testplay.TFDefinition(), false},
	"/clock": {"rosgraph_msgs/Clock", "time clock", false},
	"/text":  {testplay.StringType, testplay.StringDefinition, false},
}

// stampedMessage is a message of a test bag.
type stampedMessage struct {
	topic string
	at    time.Duration // after testBase
	data  []byte
}

// sensor is a message of /s or a topic like it, received at a time and stamped before.
func sensor(topic string, at, latency time.Duration) stampedMessage {
	return stampedMessage{topic, at, sensorData(testplay.Base.Add(at - latency))}
}

func sensorData(stamp rosbag.Time) []byte { return append(testplay.HeaderData(stamp, "f"), 1, 2, 3, 4) }

// sensors are ten messages of /s, one in 100 ms, with a latency.
func sensors(latency time.Duration) (all []stampedMessage) {
	for i := range 10 {
		all = append(all, sensor("/s", time.Duration(i)*100*ms, latency))
	}
	return all
}

// pathData is a message of /path.
func pathData(stamps ...rosbag.Time) []byte {
	b := binary.LittleEndian.AppendUint32(testplay.HeaderData(stamps[0], "map"), uint32(len(stamps)-1))
	for _, s := range stamps[1:] {
		b = append(b, sensorData(s)...)
	}
	return b
}

// stampedBag writes a bag of stamped messages in memory.
func stampedBag(tb testing.TB, messages ...stampedMessage) []byte {
	tb.Helper()
	f := &testplay.MemoryFile{}
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{Compression: rosbag.CompressionBZ2}) // chunks of bz2 are kept for the next pass
	if err != nil {
		tb.Fatal(err)
	}
	conns := map[string]*rosbag.Connection{}
	for _, m := range messages {
		if conns[m.topic] == nil {
			c := stampedConns[m.topic]
			typ, err := rosmsg.Parse(c.typ, c.definition)
			if err != nil {
				tb.Fatal(err)
			}
			h := testplay.Conn{Topic: m.topic, Type: c.typ, MD5Sum: typ.MD5Sum(), Latching: c.latching}.Header()
			h[3].Value = c.definition
			if conns[m.topic], err = w.AddConnection(m.topic, h); err != nil {
				tb.Fatal(err)
			}
		}
		if err := w.Write(conns[m.topic], testplay.Base.Add(m.at), m.data); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.Data
}

// heard notes what is published: when, on which topic, and how far from clock its stamps are.
func heard(t *testing.T, g *fakeGraph, clock func() rosbag.Time) (events *[]string) {
	t.Helper()
	events = new([]string)
	finders := map[string]*rosmsg.HeaderStamps{}
	for topic, c := range stampedConns {
		finders[topic] = testplay.StampsOf(t, c.definition)
	}
	g.frames = func(topic string, frame []byte) {
		text := fmt.Sprint(time.Since(g.start), " ", topic)
		if finders[topic] != nil {
			offsets, err := finders[topic].AppendOffsets(nil, frame[stdmsg.FramePrefix:])
			if err != nil {
				text += " damaged"
			}
			for _, i := range offsets {
				stamp := stdmsg.StampAt(frame[stdmsg.FramePrefix:], i)
				if stamp.IsZero() {
					text += " none"
				} else {
					text += fmt.Sprint(" ", stamp.Sub(clock()))
				}
			}
		}
		*events = append(*events, text)
	}
	return events
}

func wallNow() rosbag.Time { return rosbag.TimeOf(time.Now()) }

// clockData is a rosgraph_msgs/Clock.
func clockData(t rosbag.Time) []byte { return testplay.HeaderData(t, "")[4:12] }
