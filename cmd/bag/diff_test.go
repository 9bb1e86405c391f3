package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// sent is a message of a test bag, and the connection that it came by.
type sent struct {
	topic  string
	header rosbag.Header
	at     time.Duration
	data   []byte
}

// clone copies what the changes of a table change.
func clone(list []sent) []sent {
	list = slices.Clone(list)
	for i := range list {
		list[i].header = slices.Clone(list[i].header)
		list[i].data = slices.Clone(list[i].data)
	}
	return list
}

// writeSent makes a bag. Messages with the same header share a connection.
func writeSent(t *testing.T, path string, o bagfmt.WriterOptions, list []sent) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := bagfmt.NewWriter(f, o)
	if err != nil {
		t.Fatal(err)
	}
	conns := make(map[string]*rosbag.Connection)
	for _, m := range list {
		key := fmt.Sprint(m.topic, m.header)
		if conns[key] == nil {
			if conns[key], err = w.AddConnection(m.topic, m.header); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Write(conns[key], rosbag.Time{Sec: 1_500_000_000}.Add(m.at), m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

const poseDefinition = "std_msgs/Header header\nfloat64 x\nstring name\nuint8[] raw\n" +
	"================================================================================\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"

func headerFor(topic, node, latching, kind, definition string) rosbag.Header {
	return rosbag.Header{
		{Key: "callerid", Value: node},
		{Key: "latching", Value: latching},
		{Key: "md5sum", Value: "0123456789abcdef0123456789abcdef"},
		{Key: "message_definition", Value: definition},
		{Key: "topic", Value: topic},
		{Key: "type", Value: kind},
	}
}

// poseData is a message of poseDefinition.
func poseData(seq uint32, stamp time.Duration, x float64, name string, raw ...byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, seq)
	b = le.AppendUint32(b, uint32(stamp/time.Second))
	b = le.AppendUint32(b, uint32(stamp%time.Second))
	b = append(le.AppendUint32(b, 3), "map"...)
	b = le.AppendUint64(b, math.Float64bits(x))
	b = append(le.AppendUint32(b, uint32(len(name))), name...)
	return append(le.AppendUint32(b, uint32(len(raw))), raw...)
}

// run100 is what the tables change: 100 poses of one node, a map that is latched, and 20
// messages of two nodes on one topic.
func run100() []sent {
	list := []sent{{"/map", headerFor("/map", "/server", "1", "std_msgs/String", "string data\n"), 0, []byte("\x02\x00\x00\x00ok")}}
	pose := headerFor("/pose", "/robot", "0", "test_msgs/Pose", poseDefinition)
	for i := range 100 {
		at := time.Duration(i+1) * 10 * time.Millisecond
		list = append(list, sent{"/pose", pose, at, poseData(uint32(i), at, float64(i), "n", 1, 2, 3)})
		if i%5 == 0 {
			node := []string{"/left", "/right"}[i/5%2]
			list = append(list, sent{"/wheel", headerFor("/wheel", node, "0", "std_msgs/UInt32", "uint32 data\n"), at, []byte{byte(i), 1, 0, 0}})
		}
	}
	return list
}

// ofTopic returns the index of message n of a topic.
func ofTopic(list []sent, topic string, n int) int {
	for i, m := range list {
		if m.topic == topic {
			if n == 0 {
				return i
			}
			n--
		}
	}
	panic("no such message")
}

// each changes every message of a topic.
func each(list []sent, topic string, change func(*sent)) []sent {
	for i := range list {
		if list[i].topic == topic {
			change(&list[i])
		}
	}
	return list
}

func set(h rosbag.Header, key, value string) {
	for i := range h {
		if h[i].Key == key {
			h[i].Value = value
			return
		}
	}
	panic("no such field")
}

func dropped(topic string, n int) func([]sent) []sent {
	return func(list []sent) []sent { i := ofTopic(list, topic, n); return slices.Delete(list, i, i+1) }
}

// TestDiffFinds changes a bag in every way: each is found, by its name.
func TestDiffFinds(t *testing.T) {
	t.Parallel()
	pose := func(change func(*sent)) func([]sent) []sent {
		return func(list []sent) []sent { change(&list[ofTopic(list, "/pose", 41)]); return list }
	}
	tests := map[string]struct {
		change func([]sent) []sent
		args   string
		want   []string // in the output; the first one is its first line
	}{
		"a byte": {pose(func(m *sent) { m.data[len(m.data)-1] = 9 }), "", []string{
			"Different in 1 of 3 topics: 1 message changed",
			"\ntopic    A    B  difference\n/pose  100  100  1 message changed\n",
			"/pose, message 42 at 1500000000.420000000: changed\n    raw[2]: 3 -> 9 (1 of 3 bytes differ)\n",
		}},
		"fields": {pose(func(m *sent) { m.data = poseData(41, 2*time.Second+5, 41.5, "other\x1b[2J", 1, 2, 3) }), "", []string{
			"Different in 1 of 3 topics: 1 message changed",
			"    header.stamp: 0.420000000 -> 2.000000005\n    x: 41 -> 41.5\n    name: \"n\" -> \"other\\x1b[2J\"\n",
		}},
		"a longer message":  {pose(func(m *sent) { m.data = append(m.data, 0) }), "", []string{"Different in 1 of 3 topics: 1 message changed", "the fields are the same; what follows them is not\n"}},
		"a shorter message": {pose(func(m *sent) { m.data = m.data[:20] }), "", []string{"Different in 1 of 3 topics: 1 message changed", "cannot be decoded in B: test_msgs/Pose: x at 19: float64 of 8 bytes, 1 left\n", "    byte 20: 0 -> end (39 bytes, 20 in B; 0 of 20 differ)\n"}},
		"an empty message":  {pose(func(m *sent) { m.data = nil }), "", []string{"Different in 1 of 3 topics: 1 message changed", "cannot be decoded in B"}},
		"first missing":     {dropped("/pose", 0), "", []string{"Different in 1 of 3 topics: 1 message only in A", "/pose, message 1 at 1500000000.010000000: only in A\n"}},
		"middle missing":    {dropped("/pose", 50), "", []string{"Different in 1 of 3 topics: 1 message only in A", "/pose, message 51 at 1500000000.510000000: only in A\n", "/pose  100  99  1 message only in A\n"}},
		"last missing":      {dropped("/pose", 99), "", []string{"Different in 1 of 3 topics: 1 message only in A", "/pose, message 100 at 1500000001.000000000: only in A\n"}},
		"half missing": {
			func(list []sent) []sent {
				return slices.DeleteFunc(list, func(m sent) bool { return m.topic == "/pose" && m.at > 500*time.Millisecond })
			}, "-n 2",
			[]string{"Different in 1 of 3 topics: 50 messages only in A", "message 51 at", "message 52 at", "\n48 differences not shown\n"},
		},
		"a gap": {
			func(list []sent) []sent {
				return slices.DeleteFunc(list, func(m sent) bool {
					return m.topic == "/pose" && m.at > 100*time.Millisecond && m.at < 900*time.Millisecond
				})
			}, "",
			[]string{"Different in 1 of 3 topics: 79 messages only in A", "/pose, message 11 at"},
		},
		"of one publisher missing": {dropped("/wheel", 2), "", []string{"Different in 1 of 3 topics: 1 message only in A", "/wheel of /left, message 2 at 1500000000.110000000: only in A\n"}},
		"one more": {func(list []sent) []sent {
			return append(list, sent{"/pose", list[1].header, 2 * time.Second, []byte("x")})
		}, "", []string{"Different in 1 of 3 topics: 1 message only in B", "/pose, message 101 at 1500000002.000000000: only in B\n"}},
		"one twice": {
			func(list []sent) []sent {
				i := ofTopic(list, "/pose", 50)
				again := list[i]
				again.at++
				return slices.Insert(list, i+1, again)
			}, "",
			[]string{"Different in 1 of 3 topics: 1 message only in B", "/pose, message 52 at 1500000000.510000001: only in B, where it repeats the message before it\n"},
		},
		"swapped": {
			func(list []sent) []sent {
				i, j := ofTopic(list, "/pose", 50), ofTopic(list, "/pose", 51)
				list[i].data, list[j].data = list[j].data, list[i].data
				return list
			}, "",
			[]string{"Different in 1 of 3 topics: 1 message in another place", "/pose, message 51 at 1500000000.510000000: is message 52 in B, at 1500000000.520000000\n"},
		},
		"swapped far apart": {
			func(list []sent) []sent {
				i, j := ofTopic(list, "/pose", 5), ofTopic(list, "/pose", 95)
				list[i].data, list[j].data = list[j].data, list[i].data
				return list
			}, "",
			[]string{"Different in 1 of 3 topics: 2 messages in another place", "/pose, message 6 at 1500000000.060000000: is message 96 in B, at 1500000000.960000000\n"},
		},
		"exchanged between publishers": {
			func(list []sent) []sent {
				i, j := ofTopic(list, "/wheel", 4), ofTopic(list, "/wheel", 5)
				list[i].header, list[j].header = list[j].header, list[i].header
				return list
			}, "",
			[]string{"Different in 1 of 3 topics: ", "/wheel of /left", "/wheel of /right"},
		},
		"type": {func(l []sent) []sent {
			return each(l, "/pose", func(m *sent) { set(m.header, "type", "test_msgs/Pos") })
		}, "", []string{"Different in 1 of 3 topics: 1 topic with other connection headers", "/pose  100  100  type: test_msgs/Pose -> test_msgs/Pos\n"}},
		"md5sum": {func(l []sent) []sent { return each(l, "/pose", func(m *sent) { set(m.header, "md5sum", "0") }) }, "", []string{"Different in 1 of 3 topics: 1 topic with other connection headers", "md5sum: 0123456789abcdef0123456789abcdef -> 0\n"}},
		"definition": {
			func(l []sent) []sent {
				return each(l, "/pose", func(m *sent) {
					set(m.header, "message_definition", strings.Replace(poseDefinition, "float64", "uint64", 1))
				})
			}, "",
			[]string{"Different in 1 of 3 topics: 1 topic with other connection headers", "message_definition, line 2: float64 x -> uint64 x\n"},
		},
		"no definition": {
			func(l []sent) []sent {
				return each(l, "/pose", func(m *sent) { set(m.header, "message_definition", "") })
			}, "",
			[]string{"Different in 1 of 3 topics: 1 topic with other connection headers", " bytes -> absent\n"},
		},
		"latching":      {func(l []sent) []sent { return each(l, "/map", func(m *sent) { set(m.header, "latching", "0") }) }, "", []string{"Different in 1 of 3 topics: 1 topic with other connection headers", "/map   1  1  latching: 1 -> 0\n"}},
		"other latched": {func(l []sent) []sent { return each(l, "/pose", func(m *sent) { set(m.header, "latching", "1") }) }, "", []string{"Different in 1 of 3 topics: 1 topic with other connection headers", "latching: 0 -> 1\n"}},
		"latching of one publisher": {
			func(list []sent) []sent {
				return each(list, "/wheel", func(m *sent) {
					if m.header.CallerID() == "/left" {
						set(m.header, "latching", "1")
					}
				})
			}, "",
			[]string{"Different in 1 of 3 topics: 1 topic with other connection headers", "/wheel  20  20  /left: latching: 0 -> 1\n"},
		},
		"a connection more": {
			func(list []sent) []sent { set(list[ofTopic(list, "/pose", 7)].header, "latching", "1"); return list }, "",
			[]string{"Different in 1 of 3 topics: 1 topic with other connection headers", "only B has a connection with latching 1, not 0\n"},
		},
		"a field more": {
			func(l []sent) []sent {
				return each(l, "/map", func(m *sent) { m.header = append(m.header, rosbag.Field{Key: "tcp_nodelay", Value: "1"}) })
			}, "",
			[]string{"Different in 1 of 3 topics: 1 topic with other connection headers", "tcp_nodelay: absent -> 1\n"},
		},
		"a topic missing": {func(l []sent) []sent { return slices.DeleteFunc(l, func(m sent) bool { return m.topic == "/map" }) }, "", []string{"Different in 1 of 3 topics: 1 topic only in A", "/map   1  0  topic only in A\n"}},
		"a topic more":    {func(l []sent) []sent { return append(l, sent{"/new", l[0].header, time.Second, []byte("x")}) }, "", []string{"Different in 1 of 4 topics: 1 topic only in B", "/new   0  1  topic only in B\n"}},
		"another name": {
			func(l []sent) []sent { return each(l, "/map", func(m *sent) { m.topic = "/map2" }) }, "",
			[]string{"Different in 2 of 4 topics: 1 topic only in A, 1 topic only in B"},
		},
		"nothing left": {func([]sent) []sent { return nil }, "", []string{"Different in 3 of 3 topics: 3 topics only in A"}},
		"a time": {
			pose(func(m *sent) { m.at += 3 * time.Millisecond }), "",
			[]string{"Different in 1 of 3 topics: 1 message with another time", "/pose  100  100  1 message with another time, up to 3ms off\n", "/pose, message 42 at 1500000000.420000000: has the time 1500000000.423000000 in B\n"},
		},
		"a nanosecond": {pose(func(m *sent) { m.at++ }), "", []string{"Different in 1 of 3 topics: 1 message with another time", "up to 1ns off"}},
		"all times": {
			func(list []sent) []sent {
				for i := range list {
					list[i].at += time.Hour
				}
				return list
			}, "--times 0",
			[]string{"Different in 3 of 3 topics: 121 messages with another time", "Times: B is 1h0m0s later; around that 50 % of the messages are within 0s"},
		},
		"spacing": {
			func(list []sent) []sent {
				for i := range list {
					list[i].at += time.Hour
				}
				list[ofTopic(list, "/pose", 41)].at += 7 * time.Millisecond
				return list
			}, "--spacing 5ms",
			[]string{"Different in 1 of 3 topics: 1 topic with times too far off", "/pose  100  100  times up to 7ms off\n", "all within 7ms (/pose, message 42 at "},
		},
		"by header, a payload": {pose(func(m *sent) { m.data[len(m.data)-1] = 9 }), "--by header -t /pose", []string{"Different in 1 of 1 topic: 1 message changed", "raw[2]: 3 -> 9"}},
		"by header, a stamp":   {pose(func(m *sent) { m.data[8] ^= 1 }), "--by header -t /pose", []string{"Different in 1 of 1 topic: 1 message only in A, 1 message only in B"}},
		"by header, near": {pose(func(m *sent) { m.data[8] ^= 1 }), "--by header --tolerance 1us -t /pose", []string{
			"Different in 1 of 1 topic: 1 message changed",
			"    header.stamp: 0.420000000 -> 0.420000001\n",
		}},
		"by header, one missing": {dropped("/pose", 50), "--by header", []string{"Different in 1 of 3 topics: 1 message only in A", "/wheel: messages of /left begin with no header: paired in their order\n"}},
	}
	dir := t.TempDir()
	a := filepath.Join(dir, "a.bag")
	writeSent(t, a, bagfmt.WriterOptions{ChunkBytes: 2000}, run100())
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := filepath.Join(t.TempDir(), "b.bag")
			writeSent(t, b, bagfmt.WriterOptions{ChunkBytes: 3000}, tc.change(clone(run100())))
			args := append([]string{"diff", a, b}, strings.Fields(tc.args)...)
			code, stdout, stderr := gobag(args...)
			if code != 3 || stderr != "" {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
			if line, _, _ := strings.Cut(stdout, "\n"); !strings.HasPrefix(line, tc.want[0]) {
				t.Errorf("first line %q, want %q", line, tc.want[0])
			}
			for _, w := range tc.want {
				if !strings.Contains(stdout, w) {
					t.Errorf("no %q in\n%s", w, stdout)
				}
			}
			if strings.ContainsFunc(stdout, func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Errorf("control characters in %q", stdout)
			}
			// The other way round there is as much.
			if code, _, stderr := gobag(append([]string{"diff", b, a}, args[3:]...)...); code != 3 || stderr != "" {
				t.Errorf("the other way round: code %d, stderr %q", code, stderr)
			}
			var r struct {
				Same, Complete bool
				Topics         []struct{ Differs bool }
			}
			code, stdout, _ = gobag(append(args, "--json")...)
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 3 || r.Same || !r.Complete || strings.Count(stdout, "\n") != 1 {
				t.Errorf("code %d, %v: %s", code, err, stdout)
			}
		})
	}
}

// withEmptyTopic adds a connection without messages to the index section of a bag.
func withEmptyTopic(t *testing.T, b []byte, topic string) []byte {
	t.Helper()
	le := binary.LittleEndian
	field := func(key, value string) []byte {
		return append(le.AppendUint32(nil, uint32(len(key)+1+len(value))), key+"="+value...)
	}
	record := func(header, data []byte) []byte {
		b := append(le.AppendUint32(nil, uint32(len(header))), header...)
		return append(le.AppendUint32(b, uint32(len(data))), data...)
	}
	conn := record(slices.Concat(field("op", "\x07"), field("conn", "\x63\x00\x00\x00"), field("topic", topic)),
		slices.Concat(field("type", "std_msgs/String"), field("md5sum", "992ce8a1687cec8c8bd883ec73ca41d1"), field("message_definition", "string data\n")))
	pos := slices.Index(b, '\n') // of the version line
	head := string(b[pos : pos+200])
	at := pos + strings.Index(head, "index_pos=") + len("index_pos=")
	b = slices.Insert(slices.Clone(b), int(le.Uint64(b[at:])), conn...)
	at = pos + strings.Index(head, "conn_count=") + len("conn_count=")
	le.PutUint32(b[at:], le.Uint32(b[at:])+1)
	return b
}

// TestDiffEmptyTopic has a connection without messages: a topic that one bag lacks, a publisher
// that nobody has heard of.
func TestDiffEmptyTopic(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.bag")
	writeSent(t, path, bagfmt.WriterOptions{}, run100())
	plain := readFile(t, path)
	empty, silent := write(t, "b.bag", withEmptyTopic(t, plain, "/empty")), write(t, "c.bag", withEmptyTopic(t, plain, "/map"))
	for _, tc := range []struct {
		a, b string
		code int
		want string
	}{
		{path, empty, 3, "Different in 1 of 4 topics: 1 topic only in B\n"},
		{empty, path, 3, "/empty  0  0  topic only in A\n"},
		{empty, empty, 0, "Same: 121 messages on 4 topics\n"},
		{path, silent, 3, "/map   1  1  only B has a connection with md5sum 992ce8a1687cec8c8bd883ec73ca41d1, not 0123456789abcdef0123456789abcdef\n"},
	} {
		code, stdout, stderr := gobag("diff", tc.a, tc.b)
		if code != tc.code || stderr != "" || !strings.Contains(stdout, tc.want) {
			t.Errorf("code %d, want %d, stderr %q, no %q in\n%s", code, tc.code, stderr, tc.want, stdout)
		}
	}
}

// TestDiffSame has what is no difference.
func TestDiffSame(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func([]sent) []sent
		args   string
		want   []string
	}{
		"itself":    {func(l []sent) []sent { return l }, "", []string{"Same: 121 messages on 3 topics\n", "\nTimes: the same\n"}},
		"strictly":  {func(l []sent) []sent { return l }, "--times 0", []string{"Same: 121 messages on 3 topics\n"}},
		"by header": {func(l []sent) []sent { return l }, "--by header", []string{"Same: 121 messages on 3 topics\n"}},
		"other callerid": {func(l []sent) []sent {
			return each(l, "/pose", func(m *sent) { set(m.header, "callerid", "/play_123") })
		}, "", []string{"Same: 121 messages on 3 topics\n"}},
		"one stands for two": {
			func(l []sent) []sent {
				return each(l, "/wheel", func(m *sent) { set(m.header, "callerid", "/play_123") })
			}, "",
			[]string{"Same: 121 messages on 3 topics\n", "/wheel: compared as one stream, because its publishers are /left, /right in A and /play_123 in B\n"},
		},
		"later": {
			func(list []sent) []sent {
				for i := range list {
					list[i].at += 300 * time.Hour
				}
				return list
			}, "",
			[]string{"Same but for the times: 121 messages on 3 topics\n", "Times: B is 12d12h0m0s later; around that 50 % of the messages are within 0s, 99 % within 0s, all within 0s. That is no difference without --times or --spacing\n"},
		},
		"later, in its spacing": {
			func(list []sent) []sent {
				for i := range list {
					list[i].at += time.Hour + time.Duration(i%3)*time.Millisecond
				}
				return list
			}, "--spacing 2ms",
			[]string{"Same but for the times: 121 messages on 3 topics\n", "all within 1ms"},
		},
		"times within": {
			func(list []sent) []sent {
				for i := range list {
					list[i].at += time.Duration(i%3) * time.Millisecond
				}
				return list
			}, "--times 2ms",
			[]string{"Same but for the times: 121 messages on 3 topics\n"},
		},
		"without latching=0": {
			func(l []sent) []sent {
				return each(l, "/pose", func(m *sent) {
					m.header = slices.DeleteFunc(m.header, func(f rosbag.Field) bool { return f.Key == "latching" || f.Key == "topic" })
				})
			}, "", []string{"Same: 121 messages"},
		},
		"another order of fields": {func(l []sent) []sent { return each(l, "/pose", func(m *sent) { slices.Reverse(m.header) }) }, "", []string{"Same: 121 messages"}},
		"what is left out":        {dropped("/map", 0), "-x /map", []string{"Same: 120 messages on 2 topics\n"}},
		"what is not asked for":   {dropped("/map", 0), "-t /po* -t /wheel", []string{"Same: 120 messages on 2 topics\n"}},
	}
	a := filepath.Join(t.TempDir(), "a.bag")
	writeSent(t, a, bagfmt.WriterOptions{ChunkBytes: 2000}, run100())
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := filepath.Join(t.TempDir(), "b.bag")
			writeSent(t, b, bagfmt.WriterOptions{Compression: rosbag.CompressionLZ4}, tc.change(clone(run100())))
			code, stdout, stderr := gobag(append([]string{"diff", a, b}, strings.Fields(tc.args)...)...)
			if code != 0 || stderr != "" || !strings.HasPrefix(stdout, tc.want[0]) {
				t.Errorf("code %d, stderr %q\n%s", code, stderr, stdout)
			}
			for _, w := range tc.want {
				if !strings.Contains(stdout, w) {
					t.Errorf("no %q in\n%s", w, stdout)
				}
			}
		})
	}
}
