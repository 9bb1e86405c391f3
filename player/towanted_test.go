package player_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/tcpros"
)

// newString is a version of std_msgs/String that subscribers want. Their messages have a NUL more in front of the text, where
// a listener reads it.
const newString = "int8 kind\nstring data\n"

type knownStrings struct{ sum string }

func (k knownStrings) Find(string) ([]mismatch.Definition, error) {
	return []mismatch.Definition{{Type: testplay.StringType, MD5Sum: k.sum, Text: newString}}, nil
}

// listenAs is listen for subscribers that want a version.
func (w *world) listenAs(name, topic, sum string) *listener {
	w.t.Helper()
	l := &listener{t: w.t, more: make(chan struct{}, 1)}
	_, err := w.newNode(name).Subscribe(tcpros.SubscribeOptions{Topic: topic, Type: testplay.StringType, MD5Sum: sum, Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.header = info.Header
		return l, nil
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// TestToWanted converts messages for subscribers of another version: latched ones, also after seeks and for late subscribers.
// Others get what was recorded.
func TestToWanted(t *testing.T) {
	t.Parallel()
	typ, err := rosmsg.Parse(testplay.StringType, newString)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	first, second := testplay.Conn{Topic: "/map", CallerID: "/n1", Latching: true}, testplay.Conn{Topic: "/map", CallerID: "/n2", Latching: true}
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{},
		testplay.Message{Conn: first, Text: "m0"}, testplay.Message{Conn: second, At: 2 * time.Second, Text: "other"},
		testplay.Message{Conn: first, At: 10 * time.Second, Text: "m10"}, testplay.Message{Conn: chatter, At: 20 * time.Second, Text: "end"})
	controls := make(chan control.Control, 1)
	stop, result := w.start(player.Options{
		Bags: testplay.OpenBags(t, bag), Paused: true, ToWanted: true, Definitions: knownStrings{typ.MD5Sum()},
		OnStart: func(c control.Control) { controls <- c },
	})
	c := <-controls
	wants, plain := w.listenAs("wants", "/map", typ.MD5Sum()), w.listen("plain", "/map", nil)
	c.Seek(15 * time.Second)
	until := func(last string) func([]string, bool) bool {
		return func(texts []string, _ bool) bool { return len(texts) > 0 && texts[len(texts)-1] == last }
	}
	wants.wait(until("\x00m10"))
	plain.wait(until("m10"))
	c.Seek(5 * time.Second)
	converted, recorded := wants.wait(until("\x00other")), plain.wait(until("other"))
	for i := range converted {
		converted[i] = strings.TrimPrefix(converted[i], "\x00")
	}
	if d := cmp.Diff(recorded[max(len(recorded)-2, 0):], converted[max(len(converted)-2, 0):]); d != "" {
		t.Errorf("after a seek (-recorded +converted):\n%s", d)
	}
	late := w.listenAs("late", "/map", typ.MD5Sum())
	if d := cmp.Diff([]string{"\x00m0", "\x00other"}, late.wait(untilCount(2))); d != "" {
		t.Errorf("a late subscriber (-want +got):\n%s", d)
	}
	if sum, _ := late.header.Get("md5sum"); sum != typ.MD5Sum() {
		t.Errorf("told the md5sum %s", sum)
	}
	if definition, _ := late.header.Get("message_definition"); definition != newString {
		t.Errorf("told the definition %q", definition)
	}
	stop()
	if s := result(); s.Lossy() || s.Unconverted > 0 {
		t.Errorf("summary %+v", s)
	}
}
