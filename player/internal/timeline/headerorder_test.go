package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// inOrder lists what a plan plays from a place on: the number and the time of each.
func inOrder(o *Order, from rosbag.Time, before func(*plan.Route, *rosbag.Message)) []string {
	s := o.From(from, nil, before)
	defer s.Close()
	var all []string
	for m, _ := s.Next(); m != nil; m, _ = s.Next() {
		all = append(all, fmt.Sprintf("%d@%v", testplay.NumberOf(m), m.Time.Sub(testplay.Base)))
	}
	return all
}

// headerOrderOf is the order by header of bags, and what it logs.
func headerOrderOf(t *testing.T, bags ...[]byte) (*Order, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.WarnLevel)
	p, err := plan.New(t.Context(), plan.Options{Log: zap.New(core)}, testplay.OpenBags(t, bags...), testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Reach: 2 * time.Second, Workers: 1, Damaged: func(*control.DamageError) {}}, p), logs
}

func TestHeaderOrder(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tests := map[string]struct {
		messages []testplay.Headed
		want     []string
		warnings int
	}{
		"late message":        {[]testplay.Headed{{Topic: "/a", Received: 1 * s, Stamp: 1 * s}, {Topic: "/b", Received: 2 * s, Stamp: 500 * time.Millisecond}}, []string{"1@500ms", "0@1s"}, 0},
		"stamp ahead of time": {[]testplay.Headed{{Topic: "/a", Received: 1 * s, Stamp: 2500 * time.Millisecond}, {Topic: "/b", Received: 2 * s, Stamp: 2 * s}}, []string{"1@2s", "0@2.5s"}, 0},
		"no header":           {[]testplay.Headed{{Topic: "/plain", Received: 1 * s, Stamp: 0}, {Topic: "/b", Received: 2 * s, Stamp: 500 * time.Millisecond}}, []string{"1@500ms", "0@1s"}, 0},
		"zero stamp":          {[]testplay.Headed{{Topic: "/a", Received: 1 * s, Stamp: -1}, {Topic: "/b", Received: 2 * s, Stamp: 500 * time.Millisecond}}, []string{"1@500ms", "0@1s"}, 0},
		"same stamp":          {[]testplay.Headed{{Topic: "/a", Received: 1 * s, Stamp: 1 * s}, {Topic: "/b", Received: 2 * s, Stamp: 1 * s}, {Topic: "/a", Received: 3 * s, Stamp: 1 * s}}, []string{"0@1s", "1@1s", "2@1s"}, 0},
		"just within reach":   {[]testplay.Headed{{Topic: "/a", Received: 2 * s, Stamp: 0}, {Topic: "/b", Received: 2*s + 1, Stamp: 4*s + 1}, {Topic: "/a", Received: 4 * s, Stamp: 4 * s}}, []string{"0@0s", "2@4s", "1@4.000000001s"}, 0},
		"out of reach":        {[]testplay.Headed{{Topic: "/a", Received: 1 * s, Stamp: 1 * s}, {Topic: "/a", Received: 3*s + 1, Stamp: s}, {Topic: "/a", Received: 4 * s, Stamp: 7 * s}, {Topic: "/b", Received: 5 * s, Stamp: 100 * s}}, []string{"0@1s", "1@3.000000001s", "2@4s", "3@5s"}, 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, logs := headerOrderOf(t, testplay.HeadedBag(t, bagfmt.WriterOptions{}, tc.messages))
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
	var halves [2][]testplay.Headed
	for i := range 400 {
		received := time.Duration(i) * 20 * time.Millisecond
		skew := time.Duration(random.IntN(4200)-2100) * time.Millisecond // some are out of reach
		m := testplay.Headed{Topic: []string{"/a", "/b", "/plain"}[random.IntN(3)], Received: received, Stamp: max(received+skew, 0)}
		halves[i%2] = append(halves[i%2], m)
	}
	p, _ := headerOrderOf(t,
		testplay.HeadedBag(t, bagfmt.WriterOptions{ChunkBytes: 300}, halves[0]), testplay.HeadedBag(t, bagfmt.WriterOptions{ChunkBytes: 5000}, halves[1]))
	type turn struct {
		text string
		time rosbag.Time
	}
	var all []turn
	s := p.From(rosbag.Time{}, nil, nil)
	defer s.Close()
	for m, _ := s.Next(); m != nil; m, _ = s.Next() {
		if len(all) > 0 && m.Time.Before(all[len(all)-1].time) {
			t.Fatalf("%v comes after %v", m.Time, all[len(all)-1].time)
		}
		all = append(all, turn{fmt.Sprintf("%d@%v", testplay.NumberOf(m), m.Time.Sub(testplay.Base)), m.Time})
	}
	if len(all) != 400 {
		t.Fatalf("%d messages", len(all))
	}
	for from := time.Duration(0); from < 9*time.Second; from += 173 * time.Millisecond {
		var want []string
		for _, x := range all {
			if !x.time.Before(testplay.Base.Add(from)) {
				want = append(want, x.text)
			}
		}
		if d := cmp.Diff(want, inOrder(p, testplay.Base.Add(from), nil)); d != "" {
			t.Fatalf("from %v (-want +got):\n%s", from, d)
		}
	}
	for i := len(all) - 1; i > 0; i -= 7 {
		at := transport.Place{Stamp: all[i].time}
		for j := i - 1; j >= 0 && all[j].time == at.Stamp; j-- {
			at.Rank++
		}
		for _, n := range []int{1, 3, 50, 1000} {
			to, ok := p.Back(all[0].time, at, n)
			want := all[max(i-n, 0)]
			if !ok || to.Stamp != want.time {
				t.Fatalf("%d back from message %d is at %v, %v; want %v", n, i, to.Stamp, ok, want.time)
			}
		}
	}
	if to, ok := p.Back(all[0].time, transport.Place{Stamp: all[0].time}, 1); ok || to.Stamp != all[0].time {
		t.Errorf("back from the first one: %v, %v", to, ok)
	}
}

// What cannot be played is no place to go back to, and does not keep play from what is after it.
func TestHeaderOrderBackOverUnplayable(t *testing.T) {
	t.Parallel()
	p, _ := headerOrderOf(t, testplay.HeadedBag(t, bagfmt.WriterOptions{}, []testplay.Headed{
		{Topic: "/b", Received: time.Second, Stamp: time.Second}, {Topic: "/a", Received: 1500 * time.Millisecond, Stamp: 1500 * time.Millisecond}, {Topic: "/b", Received: 2 * time.Second, Stamp: 2 * time.Second}, {Topic: "/a", Received: 3 * time.Second, Stamp: 3 * time.Second},
	}))
	p.plan.Refuse(map[*plan.Topic]string{p.plan.Topic("/b"): "a test"})
	if to, ok := p.Back(testplay.Base.Add(time.Second), transport.Place{Stamp: testplay.Base.Add(3 * time.Second)}, 1); !ok || to.Stamp != testplay.Base.Add(1500*time.Millisecond) {
		t.Errorf("back at %v, %v, want at 1.5 s", to.Stamp.Sub(testplay.Base), ok)
	}
}

// A step back of a second reads a second, and not the bag.
func TestHeaderOrderBackReadsLittle(t *testing.T) {
	t.Parallel()
	var messages []testplay.Headed
	for i := range 10 {
		at := time.Duration(i) * time.Second
		messages = append(messages, testplay.Headed{Topic: "/a", Received: at, Stamp: at})
	}
	p, _ := headerOrderOf(t, testplay.HeadedBag(t, bagfmt.WriterOptions{}, messages))
	var cursors countedCursors
	p.plan.Bags[0].Source = countedSource{p.plan.Bags[0].Source, &cursors}
	if to, ok := p.Back(testplay.Base, transport.Place{Stamp: testplay.Base.Add(5 * time.Second)}, 1); !ok || to.Stamp != testplay.Base.Add(4*time.Second) || cursors.opened != 1 {
		t.Errorf("back at %v, %v, after %d attempts", to.Stamp, ok, cursors.opened)
	}
}

// Ranks begin at 0 for each time, also for the time zero.
func TestHeaderOrderBackByRank(t *testing.T) {
	t.Parallel()
	for _, at := range []rosbag.Time{{}, testplay.Base} {
		received := at.Sub(testplay.Base)
		p, _ := headerOrderOf(t, testplay.HeadedBag(t, bagfmt.WriterOptions{}, []testplay.Headed{{Topic: "/a", Received: received, Stamp: -1}, {Topic: "/a", Received: received, Stamp: -1}}))
		want := transport.Place{Stamp: at}
		if to, ok := p.Back(rosbag.Time{}, transport.Place{Stamp: at, Rank: 1}, 1); !ok || to != want {
			t.Errorf("from %v back at %+v, %v", at, to, ok)
		}
	}
}

// What comes before the beginning is state, if it latches: within the reach it is read, and before the reach it is latched.
func TestHeaderOrderLatchedBefore(t *testing.T) {
	t.Parallel()
	p, _ := headerOrderOf(t, testplay.HeadedBag(t, bagfmt.WriterOptions{}, []testplay.Headed{
		{Topic: "/latched", Received: 2 * time.Second, Stamp: 2 * time.Second}, {Topic: "/latched", Received: 4500 * time.Millisecond, Stamp: 4400 * time.Millisecond}, {Topic: "/latched", Received: 5100 * time.Millisecond, Stamp: 4900 * time.Millisecond}, {Topic: "/a", Received: 5200 * time.Millisecond, Stamp: 4950 * time.Millisecond}, {Topic: "/latched", Received: 5300 * time.Millisecond, Stamp: 5000 * time.Millisecond},
	}))
	var before []uint32
	got := inOrder(p, testplay.Base.Add(5*time.Second), func(_ *plan.Route, m *rosbag.Message) { before = append(before, testplay.NumberOf(m)) })
	if d := cmp.Diff([]string{"4@5s"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !slices.Equal(before, []uint32{1, 2}) {
		t.Errorf("before: %v", before)
	}
	state := p.Latched(testplay.Base.Add(5*time.Second), nil)
	if latched := state.Sorted(); len(latched) != 1 || latched[0].Recorded != testplay.Base.Add(2*time.Second) {
		t.Errorf("latched: %v", latched)
	}
}

// Memory is bounded: with too many bytes in reach, messages may come late, but time
// does not go back, none is lost, and it is said.
func TestHeaderOrderIsBounded(t *testing.T) {
	t.Parallel()
	p, logs := headerOrderOf(t, testplay.HeadedBag(t, bagfmt.WriterOptions{}, []testplay.Headed{{Topic: "/a", Received: time.Second, Stamp: time.Second}}))
	h := p.From(rosbag.Time{}, nil, nil).(*headerOrder)
	defer h.Close()
	big := queued{msg: rosbag.Message{Time: testplay.Base.Add(1500 * time.Millisecond), Share: maxReorderBytes}, route: &plan.Route{}}
	h.push(big)
	var got []time.Duration
	for m, _ := h.Next(); m != nil; m, _ = h.Next() {
		got = append(got, m.Time.Sub(testplay.Base))
	}
	if !slices.Equal(got, []time.Duration{1500 * time.Millisecond, 1500 * time.Millisecond}) {
		t.Errorf("got %v", got)
	}
	if logs.Len() != 1 || h.bytes != 0 {
		t.Errorf("log %v, %d bytes left", logs.All(), h.bytes)
	}
}

// What has to be unpacked before the first message is the reach, and after a seek twice
// that.
func TestHeaderOrderReadsItsReach(t *testing.T) {
	t.Parallel()
	var messages []testplay.Headed
	for i := range 500 {
		at := time.Duration(i) * 10 * time.Millisecond
		messages = append(messages, testplay.Headed{Topic: "/a", Received: at, Stamp: at})
	}
	p, _ := headerOrderOf(t, testplay.HeadedBag(t, bagfmt.WriterOptions{}, messages))
	p.Reach = time.Second
	for from, want := range map[time.Duration]uint64{0: 101, 3 * time.Second: 201} {
		h := p.From(testplay.Base.Add(from), nil, nil).(*headerOrder)
		if m, _ := h.Next(); m == nil || m.Time != testplay.Base.Add(from) {
			t.Errorf("from %v: begins with %v", from, m)
		}
		if h.count != want {
			t.Errorf("from %v: %d messages were read for the first one, want %d", from, h.count, want)
		}
		h.Close()
	}
}

// A stamp with a second of nanoseconds, or more, is none.
func TestHeaderOrderBadStamp(t *testing.T) {
	t.Parallel()
	p, logs := headerOrderOf(t, testplay.HeadedBag(t, bagfmt.WriterOptions{}, []testplay.Headed{{Topic: "/a", Received: time.Second, Stamp: time.Second}}))
	route := &plan.Route{Topic: &plan.Topic{StartsWithHeader: true}}
	for nsec, want := range map[uint32]rosbag.Time{
		999_999_999: {Sec: 1000, Nsec: 999_999_999}, 1_000_000_000: {Sec: 1001}, 4_000_000_000: {Sec: 1001},
	} {
		frame := testplay.Framed(testplay.HeaderData(rosbag.Time{Sec: 1000, Nsec: nsec}, "map"))
		if got := p.sortTime(&rosbag.Message{Time: rosbag.Time{Sec: 1001}, Frame: frame}, route); got != want {
			t.Errorf("%d ns: its turn is at %v, want %v", nsec, got, want)
		}
	}
	if logs.Len() != 1 {
		t.Errorf("log %v", logs.All())
	}
}
