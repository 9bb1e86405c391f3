package echo

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/rosbag"
)

// message returns a message of the type a/B.
func message(topic, definition string, payload ...byte) *rosbag.Message {
	conn := &rosbag.Connection{Topic: topic, Header: rosbag.Header{
		{Key: "type", Value: "a/B"}, {Key: "md5sum", Value: "*"}, {Key: "message_definition", Value: definition},
	}}
	return &rosbag.Message{Conn: conn, Time: rosbag.Time{Sec: 1, Nsec: 5}, Frame: append([]byte{byte(len(payload)), 0, 0, 0}, payload...)}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	good := message("/a", "uint8 x\nstring s\nuint8[2] l", 7, 1, 0, 0, 0, '\x1b', 1, 2)
	for name, tc := range map[string]struct {
		m      *rosbag.Message
		o      Options
		topics []string
		want   string
		told   []string
	}{
		"text":      {good, Options{}, nil, "x: 7\ns: \"\\e\"\nl: [1, 2]\n---\n", nil},
		"less":      {good, Options{NoArrays: true, NoStrings: true}, nil, "x: 7\ns: \"<string length: 1>\"\nl: \"<array type: uint8[2, length: 2>\"\n---\n", nil},
		"CSV":       {good, Options{Format: CSV}, nil, "%time,field.x,field.s\n1000000005,7,\x1b\n", nil},
		"escaped":   {good, Options{Format: CSV, Escape: true}, []string{"/a/s"}, "%time,field\n1000000005,\\x1b\n", nil},
		"JSON":      {good, Options{Format: JSON}, []string{"/a/x"}, `{"topic":"/a","t":"1.000000005","type":"a/B","field":"x","msg":7}` + "\n", nil},
		"fields":    {good, Options{}, []string{"/a/l[1]", "/?"}, "2\n---\nx: 7\ns: \"\\e\"\nl: [1, 2]\n---\n", nil},
		"limit":     {good, Options{Limit: 1}, []string{"/a/l[1]", "/a/x"}, "2\n---\n", nil},
		"other":     {good, Options{}, []string{"/b"}, "", []string{"/b: no such topic"}},
		"no field":  {good, Options{}, []string{"/a/y"}, "", []string{`x.bag: `}},
		"none":      {message("/a", ""), Options{}, nil, "", []string{"/a: no message definition of a/B (md5sum *); its messages cannot be shown"}},
		"too short": {message("/a", "uint16 x", 7), Options{}, nil, "", []string{"/a at 1.000000005: "}},
		"too long":  {message("/a", "uint8 x", 7, 8), Options{}, nil, "x: 7\n---\n", []string{"/a at 1.000000005: "}},
	} {
		var out strings.Builder
		var told []string
		tc.o.Unshown = func(err error) { told = append(told, err.Error()) }
		tc.o.Odd = tc.o.Unshown
		for _, text := range tc.topics {
			topic, err := NewTopic(text, false)
			if err != nil {
				t.Fatal(err)
			}
			tc.o.Topics = append(tc.o.Topics, topic)
		}
		p := NewPrinter(tc.o)
		p.Begin("x.bag")
		if p.Wants(tc.m.Conn) {
			if err := p.Print(&out, tc.m); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		p.Finish([]*rosbag.Connection{tc.m.Conn})
		told = append(told, p.Problems()...)
		if d := cmp.Diff(tc.want, out.String()); d != "" {
			t.Errorf("%s: (-want +got):\n%s", name, d)
		}
		if len(told) != len(tc.told) || len(told) > 0 && !strings.HasPrefix(told[0], tc.told[0]) {
			t.Errorf("%s: told %q, want %q", name, told, tc.told)
		}
		if p.Full() != (name == "limit") {
			t.Errorf("%s: full", name)
		}
	}
}

// TestUnshown: the first message that does not fit is told, and the number of all in the end.
func TestUnshown(t *testing.T) {
	t.Parallel()
	var told []string
	p := NewPrinter(Options{Unshown: func(err error) { told = append(told, err.Error()) }})
	p.Begin("x.bag")
	m := message("/a", "uint16 x", 7)
	for range 3 {
		if err := p.Print(failing{}, m); err != nil {
			t.Error(err)
		}
	}
	p.Finish([]*rosbag.Connection{m.Conn})
	if len(told) != 2 || told[1] != "/a: 3 messages like this were not shown" {
		t.Errorf("told %q", told)
	}
	m = message("/a", "uint8 x", 7)
	if err := p.Print(failing{}, m); !errors.Is(err, errFull) {
		t.Errorf("an error of the output: %v", err)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }
