package recorder

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

func testClock() *simClock {
	return &simClock{begun: make(chan struct{}), held: make(chan struct{}), over: make(chan time.Time, 1)}
}

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
func stamps(t *testing.T, path, topic string) (all []bagfmt.Time) {
	t.Helper()
	s := scanBag(t, path)
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
	clock := testClock()
	clock.release()
	sink, err := clock.openLink(linkInfo("/clock", "/sim"))
	if err != nil {
		t.Fatal(err)
	}
	sink.Frames(ticks(100), 1, time.Now())
	p := testPipeline(t, Options{sim: clock, Split: true, Duration: 10 * time.Second, FlushInterval: time.Hour}, nil)
	topic := p.addTopic("/clock")
	if err := clock.record(func(info tcpros.LinkInfo) (*link, error) { return p.openLink(topic, info) }); err != nil {
		t.Fatal(err)
	}
	l, err := p.openLink(p.addTopic("/t"), latchingInfo("/t", "p"))
	if err != nil {
		t.Fatal(err)
	}
	first := p.out.Target()
	l.Frames(numbered(1, 2, 3), 3, time.Now())
	sink.Frames(ticks(0, 105, 104), 3, time.Now()) // 0 is no time; back as it comes
	large(t, l, 4, 200_000)
	sink.Frames(ticks(111), 1, time.Now()) // the first one of the next file
	l.Frames(numbered(5), 1, time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	at := func(seconds ...uint32) (all []bagfmt.Time) {
		for _, s := range seconds {
			all = append(all, bagfmt.Time{Sec: s, Nsec: 5})
		}
		return all
	}
	for _, tc := range []struct {
		path, topic string
		want        []bagfmt.Time
	}{
		{first, "/t", at(100, 100, 100, 104)},
		{first, "/clock", at(100, 105, 104)}, // the first was before the file
		{p.out.Target(), "/clock", at(111)},
		{p.out.Target(), "/t", at(111, 111)}, // repeated, and new
	} {
		if got := stamps(t, tc.path, tc.topic); !slices.Equal(got, tc.want) {
			t.Errorf("%s in %s: %v, want %v", tc.topic, tc.path, got, tc.want)
		}
	}
}

// TestSimClock: it begins once, tells once that a time has passed, and goes on when it
// is not recorded any more.
func TestSimClock(t *testing.T) {
	t.Parallel()
	clock := testClock()
	clock.release()
	p := testPipeline(t, Options{}, nil)
	topic := p.addTopic("/clock")
	if err := clock.record(func(info tcpros.LinkInfo) (*link, error) { return p.openLink(topic, info) }); err != nil {
		t.Fatal(err)
	}
	sink, err := clock.openLink(linkInfo("/clock", "/sim"))
	if err != nil {
		t.Fatal(err)
	}
	sink.Frames(ticks(0), 1, time.Now())
	select {
	case <-clock.begun:
		t.Error("begun at zero")
	default:
	}
	over := clock.until(time.Unix(200, 5))
	sink.Frames(ticks(1, 200), 2, time.Now())
	<-clock.begun
	select {
	case <-over:
		t.Error("over at that very time")
	default:
	}
	sink.Frames(ticks(201, 202), 2, time.Now())
	if at := <-over; at != time.Unix(201, 5) {
		t.Errorf("over at %v", at)
	}
	clock.forget()
	sink.Frames(ticks(300), 1, time.Now())
	if at := clock.at(time.Now()); at != time.Unix(300, 5) {
		t.Errorf("it is %v", at)
	}
	sink.Closed(nil)
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	s := Summary{Topics: p.accounts(time.Now())}
	if n := s.Messages(); n != 5 || topic.linked != 0 {
		t.Errorf("%d messages recorded, %d links", n, topic.linked)
	}
}
