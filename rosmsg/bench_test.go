package rosmsg_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// firstOf returns the first message of a topic of the demo bag.
func firstOf(tb testing.TB, topic string) (*rosmsg.Type, []byte) {
	tb.Helper()
	definition, payload := recorded(tb, topic)
	name := map[string]string{"/odom": "nav_msgs/Odometry", "/scan": "sensor_msgs/LaserScan", "/tf": "tf2_msgs/TFMessage"}[topic]
	return parse(tb, name, definition), payload
}

// recorded returns the definition and the first message of a topic of the demo bag.
func recorded(tb testing.TB, topic string) (definition string, payload []byte) {
	tb.Helper()
	b, err := os.ReadFile("../testdata/demo.bag")
	if err != nil {
		tb.Fatal(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	for m, err := range rosbag.Messages(r, rosbag.Query{Keep: func(c *rosbag.Connection) bool { return c.Topic == topic }}) {
		if err != nil {
			tb.Fatal(err)
		}
		return m.Conn.Header.MessageDefinition(), bytes.Clone(m.Data())
	}
	tb.Fatal("no message of " + topic)
	return "", nil
}

// TestNoAllocation holds what is done for each message of a bag to no allocation.
func TestNoAllocation(t *testing.T) {
	typ, payload := firstOf(t, "/odom")
	path, err := typ.Path("pose.pose.position.x")
	if err != nil {
		t.Fatal(err)
	}
	deep, err := typ.Path("twist.covariance[35]")
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, 1<<16)
	for name, do := range map[string]func() error{
		"Lookup":  func() error { _, err := path.Lookup(payload); return err },
		"element": func() error { _, err := deep.Lookup(payload); return err },
		"Check":   func() error { return typ.Check(payload) },
		"JSON":    func() error { _, err := typ.AppendJSON(buf, payload); return err },
		"CSV":     func() error { _, err := typ.Message(payload).AppendCSV(buf, 1, rosmsg.TextOptions{}); return err },
	} {
		var failed error
		if n := testing.AllocsPerRun(100, func() {
			if err := do(); err != nil {
				failed = err
			}
		}); n != 0 || failed != nil {
			t.Errorf("%s allocates %v times, error %v", name, n, failed)
		}
	}
}

func BenchmarkMessage(b *testing.B) {
	for _, topic := range []string{"/odom", "/scan", "/tf"} {
		typ, payload := firstOf(b, topic)
		path, err := typ.Path(map[string]string{"/odom": "pose.pose.position.x", "/scan": "ranges[100]", "/tf": "transforms[0].transform.rotation.w"}[topic])
		if err != nil {
			b.Fatal(err)
		}
		stamps, offsets := typ.HeaderStamps(), make([]int, 0, 1<<4)
		buf := make([]byte, 0, 1<<16)
		for _, bench := range []struct {
			name string
			do   func() error
		}{
			{"lookup", func() error { _, err := path.Lookup(payload); return err }},
			{"check", func() error { return typ.Check(payload) }},
			{"stamps", func() error { _, err := stamps.AppendOffsets(offsets, payload); return err }},
			{"decode", func() error { _, err := typ.Decode(payload); return err }},
			{"json", func() error { _, err := typ.AppendJSON(buf, payload); return err }},
			{"text", func() error { _, err := typ.AppendText(buf, payload, rosmsg.TextOptions{}); return err }},
		} {
			b.Run("op="+bench.name+"/type="+typ.Name(), func(b *testing.B) {
				b.SetBytes(int64(len(payload)))
				b.ReportAllocs()
				for b.Loop() {
					if err := bench.do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
