package player

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// headed is a message with a header.
type headed struct {
	topic    string
	received time.Duration
	stamp    time.Duration // since testBase; a negative one is the zero stamp
}

const headedDefinition = "Header header\n"

// headedBag writes messages whose text is their number.
func headedBag(t *testing.T, o bagfmt.WriterOptions, messages []headed) []byte {
	t.Helper()
	f := &memoryFile{}
	w, err := bagfmt.NewWriter(f, o)
	if err != nil {
		t.Fatal(err)
	}
	conns := map[string]*rosbag.Connection{}
	for i, m := range messages {
		if conns[m.topic] == nil {
			header := rosbag.Header{
				{Key: "callerid", Value: "/n"},
				{Key: "latching", Value: map[bool]string{true: "1", false: "0"}[m.topic == "/latched"]},
				{Key: "md5sum", Value: stringMD5},
				{Key: "message_definition", Value: headedDefinition},
				{Key: "type", Value: "x_msgs/Headed"},
			}
			if m.topic == "/plain" {
				header[3].Value, header[4].Value = stringDefinition, stringType
			}
			if conns[m.topic], err = w.AddConnection(m.topic, header); err != nil {
				t.Fatal(err)
			}
		}
		data := make([]byte, 16)
		if at := testBase.Add(m.stamp); m.stamp >= 0 {
			binary.LittleEndian.PutUint32(data[4:], at.Sec)
			binary.LittleEndian.PutUint32(data[8:], at.Nsec)
		}
		binary.LittleEndian.PutUint32(data[12:], uint32(i))
		if err := w.Write(conns[m.topic], testBase.Add(m.received), data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.data
}

// inOrder lists what a plan plays from a place on: the number and the time of each.
func inOrder(o *order, from rosbag.Time, before func(*route, *rosbag.Message)) []string {
	s := o.from(from, nil, before)
	defer s.close()
	var all []string
	for m, _ := s.next(); m != nil; m, _ = s.next() {
		all = append(all, fmt.Sprintf("%d@%v", numberOf(m), m.Time.Sub(testBase)))
	}
	return all
}

func numberOf(m *rosbag.Message) uint32 { return binary.LittleEndian.Uint32(m.Data()[12:]) }

func headerPlan(t *testing.T, o Options, bags ...[]byte) (*order, *observer.ObservedLogs) {
	t.Helper()
	o.ByHeader, o.HeaderReach = true, 2*time.Second
	core, logs := observer.New(zap.WarnLevel)
	o.Bags, o.Log = OpenTestBags(t, bags...), zap.New(core)
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	return newOrder(orderOf(&o, func(*control.DamageError) {}), p), logs
}

func TestHeaderOrder(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tests := map[string]struct {
		messages []headed
		want     []string
		warnings int
	}{
		"late message":        {[]headed{{"/a", 1 * s, 1 * s}, {"/b", 2 * s, 500 * ms}}, []string{"1@500ms", "0@1s"}, 0},
		"stamp ahead of time": {[]headed{{"/a", 1 * s, 2500 * ms}, {"/b", 2 * s, 2 * s}}, []string{"1@2s", "0@2.5s"}, 0},
		"no header":           {[]headed{{"/plain", 1 * s, 0}, {"/b", 2 * s, 500 * ms}}, []string{"1@500ms", "0@1s"}, 0},
		"zero stamp":          {[]headed{{"/a", 1 * s, -1}, {"/b", 2 * s, 500 * ms}}, []string{"1@500ms", "0@1s"}, 0},
		"same stamp":          {[]headed{{"/a", 1 * s, 1 * s}, {"/b", 2 * s, 1 * s}, {"/a", 3 * s, 1 * s}}, []string{"0@1s", "1@1s", "2@1s"}, 0},
		"just within reach":   {[]headed{{"/a", 2 * s, 0}, {"/b", 2*s + 1, 4*s + 1}, {"/a", 4 * s, 4 * s}}, []string{"0@0s", "2@4s", "1@4.000000001s"}, 0},
		"out of reach":        {[]headed{{"/a", 1 * s, 1 * s}, {"/a", 3*s + 1, s}, {"/a", 4 * s, 7 * s}, {"/b", 5 * s, 100 * s}}, []string{"0@1s", "1@3.000000001s", "2@4s", "3@5s"}, 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, logs := headerPlan(t, Options{}, headedBag(t, bagfmt.WriterOptions{}, tc.messages))
			if d := cmp.Diff(tc.want, inOrder(p, rosbag.Time{}, nil)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if logs.Len() != tc.warnings {
				t.Errorf("log %v, want %d warnings", logs.All(), tc.warnings)
			}
		})
	}
}

// Wherever play begins, the rest comes in the one order, over several bags with chunks
// of any size.
func TestHeaderOrderFromAnywhere(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var halves [2][]headed
	for i := range 400 {
		received := time.Duration(i) * 20 * ms
		skew := time.Duration(random.IntN(4200)-2100) * ms // some are out of reach
		m := headed{[]string{"/a", "/b", "/plain"}[random.IntN(3)], received, max(received+skew, 0)}
		halves[i%2] = append(halves[i%2], m)
	}
	p, _ := headerPlan(t, Options{},
		headedBag(t, bagfmt.WriterOptions{ChunkBytes: 300}, halves[0]), headedBag(t, bagfmt.WriterOptions{ChunkBytes: 5000}, halves[1]))
	type turn struct {
		text string
		time rosbag.Time
	}
	var all []turn
	s := p.from(rosbag.Time{}, nil, nil)
	defer s.close()
	for m, _ := s.next(); m != nil; m, _ = s.next() {
		if len(all) > 0 && m.Time.Before(all[len(all)-1].time) {
			t.Fatalf("%v comes after %v", m.Time, all[len(all)-1].time)
		}
		all = append(all, turn{fmt.Sprintf("%d@%v", numberOf(m), m.Time.Sub(testBase)), m.Time})
	}
	if len(all) != 400 {
		t.Fatalf("%d messages", len(all))
	}
	for from := time.Duration(0); from < 9*time.Second; from += 173 * ms {
		var want []string
		for _, x := range all {
			if !x.time.Before(testBase.Add(from)) {
				want = append(want, x.text)
			}
		}
		if d := cmp.Diff(want, inOrder(p, testBase.Add(from), nil)); d != "" {
			t.Fatalf("from %v (-want +got):\n%s", from, d)
		}
	}
	for i := len(all) - 1; i > 0; i -= 7 {
		at := transport.Place{Stamp: all[i].time}
		for j := i - 1; j >= 0 && all[j].time == at.Stamp; j-- {
			at.Rank++
		}
		for _, n := range []int{1, 3, 50, 1000} {
			to, ok := p.back(all[0].time, at, n)
			want := all[max(i-n, 0)]
			if !ok || to.Stamp != want.time {
				t.Fatalf("%d back from message %d is at %v, %v; want %v", n, i, to.Stamp, ok, want.time)
			}
		}
	}
	if to, ok := p.back(all[0].time, transport.Place{Stamp: all[0].time}, 1); ok || to.Stamp != all[0].time {
		t.Errorf("back from the first one: %v, %v", to, ok)
	}
}

// What cannot be played is no place to go back to, and does not keep play from what is behind it.
func TestHeaderOrderBackOverUnplayable(t *testing.T) {
	t.Parallel()
	p, _ := headerPlan(t, Options{}, headedBag(t, bagfmt.WriterOptions{}, []headed{
		{"/b", time.Second, time.Second}, {"/a", 1500 * ms, 1500 * ms}, {"/b", 2 * time.Second, 2 * time.Second}, {"/a", 3 * time.Second, 3 * time.Second},
	}))
	for _, route := range p.plan.bags[0].routes {
		if route.topic.name == "/b" {
			route.unplayable(zap.NewNop(), "a test")
		}
	}
	if to, ok := p.back(testBase.Add(time.Second), transport.Place{Stamp: testBase.Add(3 * time.Second)}, 1); !ok || to.Stamp != testBase.Add(1500*ms) {
		t.Errorf("back at %v, %v, want at 1.5 s", to.Stamp.Sub(testBase), ok)
	}
}

// What comes before the beginning is state, if it latches.
func TestHeaderOrderLatchedBefore(t *testing.T) {
	t.Parallel()
	p, _ := headerPlan(t, Options{}, headedBag(t, bagfmt.WriterOptions{}, []headed{
		{"/latched", 4500 * ms, 4400 * ms}, {"/latched", 5100 * ms, 4900 * ms}, {"/a", 5200 * ms, 4950 * ms}, {"/latched", 5300 * ms, 5000 * ms},
	}))
	var before []uint32
	got := inOrder(p, testBase.Add(5*time.Second), func(_ *route, m *rosbag.Message) { before = append(before, numberOf(m)) })
	if d := cmp.Diff([]string{"3@5s"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !slices.Equal(before, []uint32{0, 1}) {
		t.Errorf("before: %v", before)
	}
}

// Memory is bounded: with too many bytes in reach, messages may come late, but time
// does not go back, none is lost, and it is said.
func TestHeaderOrderIsBounded(t *testing.T) {
	t.Parallel()
	p, logs := headerPlan(t, Options{}, headedBag(t, bagfmt.WriterOptions{}, []headed{{"/a", time.Second, time.Second}}))
	h := p.from(rosbag.Time{}, nil, nil).(*headerOrder)
	defer h.close()
	big := queued{msg: rosbag.Message{Time: testBase.Add(1500 * ms), Share: maxReorderBytes}, route: &route{}}
	h.push(big)
	var got []time.Duration
	for m, _ := h.next(); m != nil; m, _ = h.next() {
		got = append(got, m.Time.Sub(testBase))
	}
	if !slices.Equal(got, []time.Duration{1500 * ms, 1500 * ms}) {
		t.Errorf("got %v", got)
	}
	if logs.Len() != 1 || h.bytes != 0 {
		t.Errorf("log %v, %d bytes left", logs.All(), h.bytes)
	}
}

// Play waits for the stamps, and not for the times of receipt.
func TestPlayByHeader(t *testing.T) {
	t.Parallel()
	bag := headedBag(t, bagfmt.WriterOptions{}, []headed{{"/a", 1000 * ms, 900 * ms}, {"/b", 1500 * ms, 1000 * ms}, {"/a", 1510 * ms, 950 * ms}})
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		if _, err := playFake(t.Context(), g, Options{Bags: OpenTestBags(t, bag), ByHeader: true}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range g.events {
			var at, what string
			fmt.Sscan(e, &at, &what)
			got = append(got, at+" "+what)
		}
		if d := cmp.Diff([]string{"0s /a#1", "50ms /a#1", "100ms /b#1", "100ms drain"}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// What has to be unpacked before the first message is the reach, and after a seek twice
// that.
func TestHeaderOrderReadsItsReach(t *testing.T) {
	t.Parallel()
	var messages []headed
	for i := range 500 {
		at := time.Duration(i) * 10 * ms
		messages = append(messages, headed{"/a", at, at})
	}
	p, _ := headerPlan(t, Options{}, headedBag(t, bagfmt.WriterOptions{}, messages))
	p.reach = defaultReach
	for from, want := range map[time.Duration]uint64{0: 101, 3 * time.Second: 201} {
		h := p.from(testBase.Add(from), nil, nil).(*headerOrder)
		if m, _ := h.next(); m == nil || m.Time != testBase.Add(from) {
			t.Errorf("from %v: begins with %v", from, m)
		}
		if h.count != want {
			t.Errorf("from %v: %d messages were read for the first one, want %d", from, h.count, want)
		}
		h.close()
	}
}

// What is valid where a seek leads to was received before the reach: what comes later is
// read, and has its turn.
func TestHeaderOrderStateOfSeek(t *testing.T) {
	t.Parallel()
	const s = time.Second
	p, _ := headerPlan(t, Options{}, headedBag(t, bagfmt.WriterOptions{}, []headed{
		{"/latched", 1 * s, 1 * s}, {"/latched", 4500 * ms, 5500 * ms}, {"/latched", 6 * s, 6 * s},
	}))
	r := newReader(p, newQueue(1<<30, 100))
	r.zero, r.zeroKnown = testBase.Add(s), true
	r.readPasses(t.Context(), readRequest{ReadRequest: transport.ReadRequest{From: transport.Place{Stamp: testBase.Add(5 * s)}, Arrive: true}})
	r.closing.Wait()
	it, ok := popOne(t.Context(), r.queue)
	if !ok || it.jump == nil || len(it.jump.latched) != 1 || numberOf(&rosbag.Message{Frame: it.jump.latched[0].frame}) != 0 {
		t.Fatalf("got %+v first, want the state of message 0", it)
	}
	for _, want := range []uint32{1, 2} {
		if it, ok := popOne(t.Context(), r.queue); !ok || numberOf(&rosbag.Message{Frame: it.frame}) != want {
			t.Errorf("got %+v, want message %d", it, want)
		}
	}
}

// A stamp with a second of nanoseconds, or more, is none.
func TestHeaderOrderBadStamp(t *testing.T) {
	t.Parallel()
	p, logs := headerPlan(t, Options{}, headedBag(t, bagfmt.WriterOptions{}, []headed{{"/a", time.Second, time.Second}}))
	route := &route{topic: &topic{startsWithHeader: true}}
	for nsec, want := range map[uint32]rosbag.Time{
		999_999_999: {Sec: 1000, Nsec: 999_999_999}, 1_000_000_000: {Sec: 1001}, 4_000_000_000: {Sec: 1001},
	} {
		frame := framed(headerData(rosbag.Time{Sec: 1000, Nsec: nsec}, "map"))
		if got := p.sortTime(&rosbag.Message{Time: rosbag.Time{Sec: 1001}, Frame: frame}, route); got != want {
			t.Errorf("%d ns: its turn is at %v, want %v", nsec, got, want)
		}
	}
	if logs.Len() != 1 {
		t.Errorf("log %v", logs.All())
	}
}
