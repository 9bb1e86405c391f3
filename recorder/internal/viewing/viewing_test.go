package viewing_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/recorder/internal/viewing"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// sink is a recorder: it remembers what it got.
type sink struct {
	frames  int
	refuses bool // large messages
	gives   int  // bytes of a large message at a time; zero means all
	large   []byte
	aborted bool
	closed  error
	lost    int
}

func (s *sink) Frames(_ []byte, count int, _ time.Time) { s.frames += count }

func (s *sink) Large(int) tcpros.LargeFrame {
	if s.refuses {
		return nil
	}
	s.large = nil
	return s
}

func (s *sink) Room(n int) []byte {
	if s.gives > 0 {
		n = min(n, s.gives)
	}
	s.large = append(s.large, make([]byte, n)...)
	return s.large[len(s.large)-n:]
}
func (s *sink) Commit(time.Time) { s.frames++; clear(s.large) } // the memory is given away
func (s *sink) Abort()           { s.aborted = true }
func (s *sink) Closed(err error) { s.closed = err }
func (s *sink) Lost(n int)       { s.lost += n }

const (
	text   = "std_msgs/String"
	number = "std_msgs/UInt32"
)

func header(caller, typ string, latching bool) rosbag.Header {
	latch := "0"
	if latching {
		latch = "1"
	}
	return rosbag.Header{
		{Key: rosbag.KeyCallerID, Value: caller},
		{Key: rosbag.KeyType, Value: typ},
		{Key: rosbag.KeyMD5Sum, Value: "md5 of " + typ},
		{Key: rosbag.KeyMessageDefinition, Value: "definition of " + typ},
		{Key: rosbag.KeyLatching, Value: latch},
	}
}

// run returns messages as a link passes them on.
func run(texts ...string) (all []byte, count int) {
	for _, s := range texts {
		all = append(binary.LittleEndian.AppendUint32(all, uint32(len(s))), s...)
	}
	return all, len(texts)
}

// frames sends messages that were received at sec.
func frames(l tcpros.LinkSink, sec int64, texts ...string) {
	all, count := run(texts...)
	l.Frames(all, count, time.Unix(sec, 0))
	clear(all) // the link uses its buffer again
}

// sendLarge sends a large message as a link does, and reports whether anybody took it.
func sendLarge(l tcpros.LinkSink, sec int64, payload string) bool {
	all, _ := run(payload)
	f := tcpros.LargeOf(l, len(all))
	if f == nil {
		return false
	}
	for len(all) > 0 {
		room := f.Room(len(all))
		if room == nil {
			return false
		}
		all = all[copy(room, all):]
	}
	f.Commit(time.Unix(sec, 0))
	return true
}

// watch subscribes a viewer to the channel of a topic.
func watch(t *testing.T, s *live.Source, topic string) *live.Viewer {
	t.Helper()
	v, err := s.Store.Attach(s.Info().Clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	if err := v.Subscribe(channel(t, s, topic).ID); err != nil {
		t.Fatal(err)
	}
	return v
}

func channel(t *testing.T, s *live.Source, topic string) live.Channel {
	t.Helper()
	for _, c := range s.Store.Channels() {
		if c.Topic == topic {
			return c
		}
	}
	t.Fatalf("%s is not offered", topic)
	return live.Channel{}
}

// taken returns the messages for a viewer, with their times.
func taken(v *live.Viewer) (all []string) {
	for f, ok := v.Take(); ok; f, ok = v.Take() {
		if f.Kind == live.Message {
			all = append(all, fmt.Sprintf("%s at %d.%09d", f.Payload, f.Time.Sec, f.Time.Nsec))
		} else {
			all = append(all, fmt.Sprintf("kind %d at %d", f.Kind, f.Time.Sec))
		}
	}
	return all
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMessages: what the recorder gets is shown with the stamps of the recording, to those who want
// it only.
func TestMessages(t *testing.T) {
	tp := viewing.New(viewing.Options{Name: "gorecord /r"})
	s := tp.Source()
	rec := &sink{}
	l := tp.Link("/t", header("/a", text, false), rec)
	frames(l, 1, "nobody sees this")
	v := watch(t, s, "/t")
	frames(l, 2, "x", "y")
	frames(l, 3, strings.Repeat("z", 20_000), "") // longer than a block, and an empty message
	got := taken(v)
	got[2] = got[2][19_990:]
	want(t, got, "x at 1.999999999", "y at 2.000000000", strings.Repeat("z", 10)+" at 2.999999999", " at 3.000000000")
	if rec.frames != 5 {
		t.Errorf("the recorder got %d messages", rec.frames)
	}
	if c := channel(t, s, "/t"); c.Type != text || c.MD5Sum != "md5 of "+text || c.Definition != "definition of "+text {
		t.Errorf("channel %+v", c)
	}
	if i := s.Info(); i.Name != "gorecord /r" || i.Session == "" || i.Clock || s.Graph != nil {
		t.Errorf("info %+v", i)
	}
	l.(tcpros.LostSink).Lost(3)
	l.Closed(io.EOF)
	if !errors.Is(rec.closed, io.EOF) || rec.lost != 3 {
		t.Errorf("the recorder was told %+v", rec)
	}
	if c := s.Store.Channels(); len(c) != 0 {
		t.Errorf("%v is offered without a publisher", c)
	}
}

// TestNoViewer: without a viewer, messages cost no memory.
func TestNoViewer(t *testing.T) {
	tp := viewing.New(viewing.Options{})
	l, latching := tp.Link("/t", header("/a", text, false), &sink{}), tp.Link("/map", header("/a", text, true), &sink{})
	all, count := run("x", "y")
	now := time.Unix(1, 0)
	if n := testing.AllocsPerRun(100, func() { l.Frames(all, count, now); latching.Frames(all, count, now) }); n > 0 {
		t.Errorf("a run allocates %v times", n)
	}
	if f, same := tcpros.LargeOf(l, 1<<20), (*sink)(nil); f == nil || fmt.Sprintf("%T", f) != fmt.Sprintf("%T", same) {
		t.Errorf("a large message goes through %T", f)
	}
}

// TestNilTap: a recording without viewers has no tap.
func TestNilTap(t *testing.T) {
	var tp *viewing.Tap
	rec := &sink{}
	if l := tp.Link("/t", header("/a", text, false), rec); l != tcpros.LinkSink(rec) {
		t.Errorf("a nil Tap returns %T", l)
	}
	tp.Follow(nil)
}

// TestLarge: a large message is copied from the memory of the recorder, in one or more pieces, and
// shown also if the recorder refuses the message.
func TestLarge(t *testing.T) {
	payload := strings.Repeat("0123456789", 300_000)
	for name, rec := range map[string]*sink{"one piece": {}, "pieces": {gives: 700_000}, "refused": {refuses: true}} {
		t.Run(name, func(t *testing.T) {
			tp := viewing.New(viewing.Options{})
			l := tp.Link("/t", header("/a", text, false), rec)
			v := watch(t, tp.Source(), "/t")
			for range 40 { // more than all memory for unfinished messages
				if !sendLarge(l, 7, payload) {
					t.Fatal("the message is not taken")
				}
			}
			got := taken(v)
			if len(got) < 3 || got[0] != payload+" at 7.000000000" {
				t.Errorf("%d messages, the first one with %d bytes", len(got), len(got[0]))
			}
			f := tcpros.LargeOf(l, 100_000)
			f.Room(100_000)
			f.Abort()
			if len(taken(v)) > 0 {
				t.Error("an aborted message is shown")
			}
			if !rec.refuses && !rec.aborted {
				t.Error("the recorder is not told of the end")
			}
		})
	}
}

// TestTooLarge: a message that is larger than the memory for viewers is told, not shown.
func TestTooLarge(t *testing.T) {
	tp := viewing.New(viewing.Options{Memory: 12 << 20})
	s := tp.Source()
	for name, rec := range map[string]*sink{"/announced": {}, "/pieces": {gives: 100_000}} {
		l := tp.Link(topicname.InGraph(name), header("/a", text, false), rec)
		v := watch(t, s, name)
		size := 4 << 20
		if name == "/pieces" {
			size = 2_500_000
		}
		if !sendLarge(l, 1, strings.Repeat("x", size)) || rec.frames != 1 {
			t.Errorf("%s: the recorder has %d messages", name, rec.frames)
		}
		frames(l, 2, "small")
		want(t, taken(v), "small at 2.000000000")
		if n := s.Store.Notices()[name]; !strings.Contains(n, "too large for viewers") {
			t.Errorf("%s: notice %q", name, n)
		}
	}
}

// TestTooLargeForViewersOnly: a message that the recorder refuses is shown if there is memory. If not,
// viewers are told so, and nobody gets the latched message before it as the latest one.
func TestTooLargeForViewersOnly(t *testing.T) {
	tp := viewing.New(viewing.Options{Memory: 12 << 20}) // 2 MiB for large messages that arrive
	s := tp.Source()
	other := tcpros.LargeOf(tp.Link("/other", header("/a", text, true), &sink{gives: 500_000}), 2_000_000)
	for range 4 {
		other.Room(500_000) // the first three pieces are copied
	}
	l := tp.Link("/map", header("/a", text, true), &sink{refuses: true})
	frames(l, 1, "before")
	if sendLarge(l, 2, strings.Repeat("x", 2_900_000)) {
		t.Fatal("there is memory for the message")
	}
	if n := s.Store.Notices()["/map"]; !strings.Contains(n, "too large for viewers") {
		t.Errorf("notice %q", n)
	}
	want(t, taken(watch(t, s, "/map")))
}

// TestNoticeIsShort, however many types the publishers of a topic have, and however long their names are.
func TestNoticeIsShort(t *testing.T) {
	tp := viewing.New(viewing.Options{})
	for i := range 1000 {
		tp.Link("/t", header("/a", fmt.Sprint("pkg/Type", i, strings.Repeat("x", 1000)), false), &sink{})
	}
	n := tp.Source().Store.Notices()["/t"]
	if len(n) > 2000 || !strings.Contains(n, "pkg/Type1x") || !strings.Contains(n, "and 995 more") {
		t.Errorf("a notice of %d bytes: %.2000s", len(n), n)
	}
}

// TestLatched: a viewer gets the latest message of each latching publisher once, before newer ones.
func TestLatched(t *testing.T) {
	tp := viewing.New(viewing.Options{})
	s := tp.Source()
	a, b := tp.Link("/map", header("/a", text, true), &sink{}), tp.Link("/map", header("/b", text, true), &sink{})
	c := tp.Link("/map", header("/c", text, false), &sink{})
	frames(a, 1, "a1", "a2")
	sendLarge(b, 2, strings.Repeat("b", 200_000))
	frames(c, 3, "c1")
	v := watch(t, s, "/map")
	big := strings.Repeat("b", 200_000) + " at 2.000000000"
	want(t, taken(v), "a2 at 1.000000000", big)
	frames(a, 4, "a3")
	frames(c, 5, "c2")
	want(t, taken(v), "a3 at 4.000000000", "c2 at 5.000000000")
	w := watch(t, s, "/map")
	frames(a, 6, "a4")
	want(t, taken(w), big, "a3 at 4.000000000", "a4 at 6.000000000")
	b.Closed(io.EOF)
	want(t, taken(watch(t, s, "/map")), "a4 at 6.000000000")
}

// slowClock calls meanwhile between the look at who wants a message and the copy of the message.
type slowClock struct {
	simulated
	meanwhile func()
}

func (c *slowClock) At(t time.Time) time.Time {
	if f := c.meanwhile; f != nil {
		c.meanwhile = nil
		f()
	}
	return c.simulated.At(t)
}

// TestLatchedWhileSubscribing: a viewer that subscribes while a latched message arrives gets the
// message once.
func TestLatchedWhileSubscribing(t *testing.T) {
	for name, send := range map[string]func(tcpros.LinkSink){
		"frames": func(l tcpros.LinkSink) { frames(l, 1, "before", "map") },
		"large":  func(l tcpros.LinkSink) { sendLarge(l, 1, "map") },
	} {
		t.Run(name, func(t *testing.T) {
			tp := viewing.New(viewing.Options{})
			s := tp.Source()
			l := tp.Link("/map", header("/a", text, true), &sink{})
			var v *live.Viewer
			c := &slowClock{simulated: simulated{now: time.Unix(7, 0)}}
			tp.Follow(c)
			c.meanwhile = func() { v = watch(t, s, "/map") }
			send(l)
			for f, ok := v.Take(); ; f, ok = v.Take() {
				if !ok {
					t.Fatal("the latched message is lost")
				}
				if f.Kind == live.Message && string(f.Payload) == "map" {
					break
				}
			}
			want(t, taken(v))
			want(t, taken(watch(t, s, "/map")), "map at 7.000000000")
		})
	}
}

// TestLatchedOnceWhileSubscribing: viewers that subscribe while latched messages arrive get each
// latest message exactly once, whatever the order.
func TestLatchedOnceWhileSubscribing(t *testing.T) {
	for _, length := range []int{8, 200_000} {
		tp := viewing.New(viewing.Options{})
		s := tp.Source()
		l := tp.Link("/map", header("/a", text, true), &sink{})
		other := watch(t, s, "/map") // so that messages are wanted all the time
		const rounds = 200
		var wg sync.WaitGroup
		for n := range int64(rounds) {
			payload := fmt.Sprintf("%0*d", length, n)
			var v *live.Viewer
			wg.Go(func() { v = watch(t, s, "/map") })
			if length > 1000 {
				sendLarge(l, n, payload)
			} else {
				frames(l, n, payload)
			}
			wg.Wait()
			last, times := "", 0
			for f, ok := v.Take(); ok; f, ok = v.Take() {
				if string(f.Payload) == payload {
					times++
				}
				last = string(f.Payload)
			}
			if times != 1 || last != payload {
				t.Fatalf("length %d, round %d: the latest message was received %d times", length, n, times)
			}
			taken(other)
			v.Close()
		}
	}
}

// TestLatchedLetGo: copies of latched messages are bounded, small ones keep their room, and viewers
// are told what they will not see.
func TestLatchedLetGo(t *testing.T) {
	tp := viewing.New(viewing.Options{Memory: 12 << 20}) // 2 MiB for latched messages
	s := tp.Source()
	big, small := tp.Link("/big", header("/a", text, true), &sink{}), tp.Link("/small", header("/a", text, true), &sink{})
	sendLarge(big, 1, strings.Repeat("x", 1_400_000))
	second := tp.Link("/second", header("/a", text, true), &sink{})
	sendLarge(second, 1, strings.Repeat("x", 400_000))
	frames(small, 1, "kept")
	want(t, taken(watch(t, s, "/small")), "kept at 1.000000000")
	want(t, taken(watch(t, s, "/second")))
	if n := s.Store.Notices(); len(n) != 1 || !strings.Contains(n["/second"], "too large to be kept") {
		t.Errorf("notices %q", n)
	}
	big.Closed(nil)
	sendLarge(second, 2, strings.Repeat("y", 400_000))
	if got := taken(watch(t, s, "/second")); len(got) != 1 {
		t.Errorf("%d messages after there is room", len(got))
	}
	if n := s.Store.Notices(); len(n) > 0 {
		t.Errorf("notices %q", n)
	}
}

// TestTypes: viewers see the first type of a topic and are told of others; when the publishers of the
// first type have gone, the next one is shown, on a channel of its own.
func TestTypes(t *testing.T) {
	tp := viewing.New(viewing.Options{})
	s := tp.Source()
	a, b := tp.Link("/t", header("/a", text, false), &sink{}), tp.Link("/t", header("/b", number, false), &sink{})
	first := channel(t, s, "/t")
	v := watch(t, s, "/t")
	frames(a, 1, "text")
	frames(b, 1, "four")
	want(t, taken(v), "text at 1.000000000")
	if n := s.Store.Notices()["/t"]; !strings.Contains(n, number) || strings.Contains(n, text) || strings.Contains(n, "more") {
		t.Errorf("notice %q", n)
	}
	changed := s.Store.Changed()
	a.Closed(io.EOF)
	select {
	case <-changed:
	default:
		t.Error("viewers are not told")
	}
	if c := channel(t, s, "/t"); c.Type != number || c.ID == first.ID {
		t.Errorf("channel %+v after %+v", c, first)
	}
	v = watch(t, s, "/t")
	frames(b, 2, "five")
	want(t, taken(v), "five at 2.000000000")
	if n := s.Store.Notices(); len(n) > 0 {
		t.Errorf("notices %q", n)
	}
	b.Closed(io.EOF)
	again := tp.Link("/t", header("/a", text, false), &sink{})
	if c := channel(t, s, "/t"); c.Type != text || c.ID == first.ID {
		t.Errorf("channel %+v after %+v", c, first)
	}
	again.Closed(nil)
}

// simulated is a clock of a graph.
type simulated struct {
	now  time.Time
	tell func(now, before time.Time)
}

func (c *simulated) At(time.Time) time.Time             { return c.now }
func (c *simulated) Step() time.Duration                { return 0 }
func (c *simulated) Tell(f func(now, before time.Time)) { c.tell = f }

func (c *simulated) set(sec int64) {
	before := c.now
	c.now = time.Unix(sec, 0)
	c.tell(c.now, before)
}

// TestClock: with a clock of the graph, messages have its stamps, and viewers are told the time.
func TestClock(t *testing.T) {
	tp := viewing.New(viewing.Options{})
	s := tp.Source()
	c := &simulated{now: time.Unix(0, 0)}
	changed := s.Store.Changed()
	tp.Follow(c)
	if <-changed; !s.Info().Clock {
		t.Error("viewers are not told of the clock")
	}
	l := tp.Link("/t", header("/a", text, false), &sink{})
	v := watch(t, s, "/t")
	c.set(100)
	frames(l, 1, "x", "y")
	want(t, taken(v), "kind 1 at 100", "x at 100.000000000", "y at 100.000000000")
	c.set(50)
	frames(l, 2, "again")
	want(t, taken(v), "kind 2 at 50", "again at 50.000000000")
}

// TestClockWithoutMessages: viewers are told the time without a message, too, as often as a screen shows it.
func TestClockWithoutMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := viewing.New(viewing.Options{})
		c := &simulated{now: time.Unix(0, 0)}
		tp.Follow(c)
		tp.Link("/t", header("/a", text, false), &sink{})
		v := watch(t, tp.Source(), "/t")
		c.set(100)
		want(t, taken(v), "kind 1 at 100")
		time.Sleep(time.Second/60 - 1)
		c.set(101)
		want(t, taken(v))
		time.Sleep(time.Nanosecond)
		c.set(102)
		want(t, taken(v), "kind 1 at 102")
	})
}

// TestMemoryOfViewers: one viewer has a third of the memory at most, all together have five twelfths.
func TestMemoryOfViewers(t *testing.T) {
	tp := viewing.New(viewing.Options{Memory: 12 << 20})
	tp.Link("/t", header("/a", text, false), &sink{})
	for _, most := range []int64{4 << 20, 5 << 19} {
		if v := watch(t, tp.Source(), "/t"); v.Stats().LimitBytes != most {
			t.Errorf("a viewer has %d bytes, want %d", v.Stats().LimitBytes, most)
		}
	}
}

// TestLatchedAfterJump: when the time of the graph goes back, viewers drop what they have, and get the
// latched messages again.
func TestLatchedAfterJump(t *testing.T) {
	tp := viewing.New(viewing.Options{})
	s := tp.Source()
	c := &simulated{now: time.Unix(0, 0)}
	tp.Follow(c)
	a, b := tp.Link("/map", header("/a", text, true), &sink{}), tp.Link("/map", header("/b", text, true), &sink{})
	c.set(100)
	frames(a, 1, "old", "first")
	c.set(101)
	frames(b, 1, "second")
	for i := range 9 { // nobody sees these
		frames(tp.Link(topicname.InGraph(fmt.Sprint("/other", i)), header("/a", text, true), &sink{}), 1, "other")
	}
	v := watch(t, s, "/map")
	c.set(50)
	want(t, taken(v), "kind 2 at 50", "first at 50.000000000", "second at 50.000000000")
}

// TestTogether: links come, send and go while viewers come and go.
func TestTogether(t *testing.T) {
	tp := viewing.New(viewing.Options{Memory: 12 << 20})
	s := tp.Source()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := range 40 {
				typ := text
				if k%7 == 0 {
					typ = number
				}
				l := tp.Link("/t", header(fmt.Sprint("/n", i), typ, i%2 == 0), &sink{gives: 30_000})
				for n := range 5 {
					frames(l, int64(n), "a", "b")
					sendLarge(l, int64(n), strings.Repeat("x", 140_000))
				}
				l.Closed(nil)
			}
		})
		wg.Go(func() {
			for range 40 {
				v, err := s.Store.Attach(false)
				if err != nil {
					continue
				}
				for _, c := range s.Store.Channels() {
					v.Subscribe(c.ID)
				}
				taken(v)
				v.Close()
			}
		})
	}
	wg.Wait()
	if c, n := s.Store.Channels(), s.Store.Notices(); len(c)+len(n) > 0 {
		t.Errorf("channels %v and notices %v are left", c, n)
	}
}

// TestDefinition: viewers get a definition that they can use, though the publisher sends none.
func TestDefinition(t *testing.T) {
	tp := viewing.New(viewing.Options{Name: "gorecord /r"})
	s := tp.Source()
	h := header("/a", text, false)
	h[2].Value, h[3].Value = "992ce8a1687cec8c8bd883ec73ca41d1", ""
	tp.Link("/t", h, &sink{})
	if c := channel(t, s, "/t"); c.Definition != "string data\n" {
		t.Errorf("channel %+v", c)
	}
}
