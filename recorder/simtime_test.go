package recorder

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// ticks makes frames of rosgraph_msgs/Clock, 5 ns after the seconds, but for zero.
func ticks(seconds ...uint32) []byte {
	var run []byte
	for _, s := range seconds {
		run = binary.LittleEndian.AppendUint32(run, 8)
		run = binary.LittleEndian.AppendUint32(run, s)
		run = binary.LittleEndian.AppendUint32(run, min(s, 5))
	}
	return run
}

// stamps returns those of a topic in the order of the file.
func stamps(t *testing.T, path, topic string) (all []rosbag.Time) {
	t.Helper()
	s := testlink.ScanBag(t, path)
	for {
		m, err := s.Next()
		if err != nil {
			return all
		}
		if m.Conn.Topic == topic {
			all = append(all, m.Time)
		}
	}
}

// TestSimStamps: all messages have the time of the last clock, also the clock's own,
// also large and repeated ones, and splits go by it.
func TestSimStamps(t *testing.T) {
	t.Parallel()
	sim := simtime.New()
	sim.Release()
	sink, err := sim.Link(testlink.Info("/clock", "/sim"))
	if err != nil {
		t.Fatal(err)
	}
	sink.Frames(ticks(100), 1, time.Now())
	p := testPipeline(t, Options{sim: sim, Split: true, Duration: 10 * time.Second, FlushInterval: time.Hour}, nil)
	topic := p.AddTopic("/clock", "/clock", time.Time{})
	if err := sim.Record(func(info tcpros.LinkInfo) (tcpros.LinkSink, error) { return p.OpenLink(topic, info) }); err != nil {
		t.Fatal(err)
	}
	l, err := p.OpenLink(p.AddTopic("/t", "/t", time.Time{}), testlink.LatchingInfo("/t", "p"))
	if err != nil {
		t.Fatal(err)
	}
	first := p.Current().Target()
	l.Frames(testlink.Numbered(1, 2, 3), 3, time.Now())
	sink.Frames(ticks(0, 105, 104), 3, time.Now()) // 0 is no time; back as it comes
	sendLarge(t, l, 4, 200_000)
	sink.Frames(ticks(111), 1, time.Now()) // the first one of the next file
	l.Frames(testlink.Numbered(5), 1, time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	at := func(seconds ...uint32) (all []rosbag.Time) {
		for _, s := range seconds {
			all = append(all, rosbag.Time{Sec: s, Nsec: 5})
		}
		return all
	}
	for _, tc := range []struct {
		path, topic string
		want        []rosbag.Time
	}{
		{first, "/t", at(100, 100, 100, 104)},
		{first, "/clock", at(100, 105, 104)}, // the first was before the file
		{p.Current().Target(), "/clock", at(111)},
		{p.Current().Target(), "/t", at(111, 111)}, // repeated, and new
	} {
		if got := stamps(t, tc.path, tc.topic); !slices.Equal(got, tc.want) {
			t.Errorf("%s in %s: %v, want %v", tc.topic, tc.path, got, tc.want)
		}
	}
}

// TestSimClockStartsAgain: a simulator that is reset, or that plays in a loop, goes back time after
// time. Limits of topics, splits and the duration count the time that passes on its clock, so
// that none of them waits for the clock to reach the time before the reset.
func TestSimClockStartsAgain(t *testing.T) {
	t.Parallel()
	sim := simtime.New()
	sim.Release()
	sink, err := sim.Link(testlink.Info("/clock", "/sim"))
	if err != nil {
		t.Fatal(err)
	}
	sink.Frames(ticks(100), 1, time.Now())
	over := sim.Until(sim.Steady(time.Now()).Add(14 * time.Second))
	p := testPipeline(t, Options{sim: sim, Split: true, Duration: 4 * time.Second, Limits: []Limit{
		{Topics: "/rate", MaxRate: 0.5}, {Topics: "/large", MaxRate: 0.5}, {Topics: "/every", Every: 2}, {Topics: "/both", MaxRate: 1, Every: 2},
	}}, nil)
	links := map[string]*intake.Link{"/rate": open(t, p, "/rate", "/a"), "/every": open(t, p, "/every", "/b"), "/both": open(t, p, "/both", "/c")}
	big := open(t, p, "/large", "/d")
	kept := map[string][]uint64{}
	for pass := range 3 {
		before := map[string]uint64{}
		for topic, l := range links {
			before[topic] = accountOf(p, l).Messages
		}
		for second := range uint32(6) {
			if pass+int(second) > 0 {
				sink.Frames(ticks(100+second), 1, time.Now())
			}
			for _, l := range links {
				l.Frames(testlink.Frame(1, second, 10), 1, time.Now())
			}
			sendLarge(t, big, second, 200_000)
			select {
			case at := <-over:
				if pass < 2 || second != 5 {
					t.Errorf("14 s have passed in pass %d at %v", pass, at)
				}
			default:
				if pass == 2 && second == 5 {
					t.Error("15 s have passed, and 14 s have not")
				}
			}
		}
		for topic, l := range links {
			kept[topic] = append(kept[topic], accountOf(p, l).Messages-before[topic])
		}
	}
	files, ofBig := partOf(p)+1, accountOf(p, big).Messages
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	for topic, want := range map[string][]uint64{"/rate": {4, 3, 2}, "/every": {3, 3, 3}, "/both": {3, 3, 3}} {
		if !slices.Equal(kept[topic], want) {
			t.Errorf("%s: %d messages recorded in the passes, want %d", topic, kept[topic], want)
		}
	}
	if ofBig != 9 {
		t.Errorf("%d large messages recorded, want 9", ofBig)
	}
	if files != 4 { // 15 s have passed
		t.Errorf("%d files, want 4", files)
	}
}

// TestSimSplitAtStartsAgain: files end at multiples of the clock also after it has gone back.
func TestSimSplitAtStartsAgain(t *testing.T) {
	t.Parallel()
	sim := simtime.New()
	sim.Set(95e9)
	p := testPipeline(t, Options{sim: sim, Split: true, SplitAt: 10 * time.Second}, nil)
	l := open(t, p, "/t", "/p")
	var ends []int64
	for _, second := range []int64{99, 100, 109, 110, 115, 30, 39, 40, 49, 51} {
		sim.Set(second * 1e9)
		number := partOf(p)
		p.tick(time.Now())
		l.Frames(testlink.Frame(1, uint32(second), 10), 1, time.Now())
		if partOf(p) != number {
			ends = append(ends, second)
		}
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if want := []int64{100, 110, 40, 51}; !slices.Equal(ends, want) {
		t.Errorf("files end at %v, want %v", ends, want)
	}
}
