package recorder

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestLinksLost: which links that end are lost, and how long there was none.
func TestLinksLost(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	type event struct {
		at   time.Duration
		what string
	}
	tests := map[string]struct {
		events  []event
		lost    int
		back    int
		without time.Duration // at 60 s
	}{
		"ended well":               {[]event{{0, "end"}, {20 * ms, "leave"}}, 0, 0, 0},
		"ended well and came back": {[]event{{0, "end"}, {20 * ms, "leave"}, {200 * ms, "open"}}, 0, 1, 200 * ms},
		"ended well, slowly":       {[]event{{0, "end"}, {4 * time.Second, "leave"}, {9 * time.Second, "open"}}, 0, 1, 9 * time.Second},
		"ended well in a message":  {[]event{{0, "cut"}, {20 * ms, "leave"}}, 0, 0, 0},
		"ended for a moment":       {[]event{{0, "end"}, {100 * ms, "again"}}, 0, 1, 100 * ms},
		"ended for long":           {[]event{{0, "end"}, {9 * time.Second, "again"}}, 1, 0, 9 * time.Second},
		"cut for a moment":         {[]event{{0, "cut"}, {100 * ms, "again"}}, 1, 0, 100 * ms},
		"cut while paused":         {[]event{{0, "pause"}, {0, "cut"}, {100 * ms, "again"}}, 0, 1, 100 * ms},
		"ended by us":              {[]event{{0, "close"}}, 0, 0, 0},
		"killed":                   {[]event{{0, "end"}}, 1, 0, time.Minute},
		"killed, then forgotten":   {[]event{{0, "end"}, {9 * time.Second, "leave"}}, 1, 0, time.Minute},
		"killed, soon back":        {[]event{{0, "end"}, {time.Second, "open"}}, 0, 1, time.Second},
		"killed, late back":        {[]event{{0, "end"}, {10 * time.Second, "open"}}, 1, 0, 10 * time.Second},
		"twice":                    {[]event{{0, "end"}, {time.Second, "open"}, {3 * time.Second, "end"}, {9 * time.Second, "open"}}, 1, 1, 7 * time.Second},
		"another while it lives":   {[]event{{0, "open"}, {20 * ms, "end"}, {20 * ms, "leave"}}, 0, 0, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			u := &publisher{}
			u.open(false, true, start)
			listed, wanted := true, true
			events := tc.events
			for at := time.Duration(0); at <= time.Minute; at += 10 * ms {
				for len(events) > 0 && events[0].at <= at {
					switch now := start.Add(events[0].at); events[0].what {
					case "open":
						u.open(false, wanted, now)
					case "again":
						u.open(true, wanted, now)
					case "end":
						u.end(io.EOF, now)
					case "cut":
						u.end(io.ErrUnexpectedEOF, now)
					case "close":
						u.end(nil, now)
					case "leave":
						listed = false
					case "pause":
						wanted = false
					}
					events = events[1:]
				}
				if u.overdue(start.Add(at)) {
					u.explain(listed)
				}
			}
			if got := u.without(start.Add(time.Minute)); u.lost != tc.lost || u.back != tc.back || got != tc.without {
				t.Errorf("%d lost, %d back, %v without, want %d, %d, %v", u.lost, u.back, got, tc.lost, tc.back, tc.without)
			}
		})
	}
}

func headerInfo(topic, publisher string) tcpros.LinkInfo {
	info := linkInfo(topic, publisher)
	info.PublisherURI = "http://" + publisher
	for i := range info.Header {
		if info.Header[i].Key == "message_definition" {
			info.Header[i].Value = "Header header\n"
		}
	}
	return info
}

func latchingInfo(topic, publisher string) tcpros.LinkInfo {
	info := headerInfo(topic, publisher)
	for i := range info.Header {
		if info.Header[i].Key == "latching" {
			info.Header[i].Value = "1"
		}
	}
	return info
}

// TestMissedMessages: holes are counted over small and large messages and over links,
// and what is dropped here is no hole.
func TestMissedMessages(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{BufferBytes: 4 << 20}, nil)
	topic := p.addTopic("/t")
	l, err := p.openLink(topic, headerInfo("/t", "p"))
	if err != nil {
		t.Fatal(err)
	}
	l.Frames(numbered(count(0, 10)...), 10, time.Now())
	large(t, l, 12, 200_000) // 10 and 11 are missing
	large(t, l, 13, 8<<20)   // larger than the buffer: dropped, not missed
	l.Frames(numbered(14, 15), 2, time.Now())
	l.Closed(errors.New("cut"))
	if l, err = p.openLink(topic, headerInfo("/t", "p")); err != nil {
		t.Fatal(err)
	}
	l.Frames(numbered(19), 1, time.Now()) // 16 to 18 came while there was no link
	other, err := p.openLink(topic, headerInfo("/t", "q"))
	if err != nil {
		t.Fatal(err)
	}
	other.Frames(numbered(count(500, 5)...), 5, time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	s := Summary{Topics: p.accounts(time.Now())}
	ts := s.Topics[1] // after the account itself
	if ts.Publishers[0].Missed != 5 || ts.Publishers[1].Missed != 0 || s.Dropped() != 1 || ts.Publishers[0].LinksLost != 1 {
		t.Errorf("%+v", ts)
	}
	if want := "1 messages were lost, 5 messages were published and never arrived, links to publishers were lost (1)"; s.Losses() != want {
		t.Errorf("%q, want %q", s.Losses(), want)
	}
}

// large sends one message of n bytes as the node does.
func large(t *testing.T, l *link, seq uint32, n int) {
	t.Helper()
	frame := numbered(seq)
	frame = append(frame, make([]byte, n)...)
	frame[0], frame[1], frame[2], frame[3] = byte(n+12), byte((n+12)>>8), byte((n+12)>>16), byte((n+12)>>24)
	f := l.Large(len(frame))
	if f == nil {
		return
	}
	for rest := frame; len(rest) > 0; {
		room := f.Room(len(rest))
		if room == nil {
			return
		}
		rest = rest[copy(room, rest):]
	}
	f.Commit(time.Now())
}

// TestNoNumbersOfLatched: their numbers have holes that are none.
func TestNoNumbersOfLatched(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	info := latchingInfo("/t", "p")
	udp := headerInfo("/t", "q")
	udp.Transport = "UDPROS"
	for _, info := range []tcpros.LinkInfo{info, udp, linkInfo("/t", "r")} {
		l, err := p.openLink(p.addTopic("/t"), info)
		if err != nil {
			t.Fatal(err)
		}
		l.Frames(numbered(1, 2, 3, 4, 5, 6, 9), 7, time.Now())
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if s := (Summary{Topics: p.accounts(time.Now())}); s.Losses() != "" {
		t.Errorf("%+v", s)
	}
}

func TestWatchingAllocatesNothing(t *testing.T) {
	p := testPipeline(t, Options{Compression: bagfmt.CompressionNone}, nil)
	l, err := p.openLink(p.addTopic("/t"), headerInfo("/t", "p"))
	if err != nil {
		t.Fatal(err)
	}
	var w seqWatch
	run := numbered(count(0, 100)...)
	if n := testing.AllocsPerRun(100, func() {
		l.missed(w.run(run, 100))
		w = seqWatch{}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestSaid: a number that grows all the time is told at once and then now and then,
// and nothing of it is told twice.
func TestSaid(t *testing.T) {
	t.Parallel()
	var s said
	start := time.Now()
	told, times := uint64(0), 0
	for i := range 60 {
		if n := s.news(uint64(10+i), start.Add(time.Duration(i)*time.Second)); n > 0 {
			told += n
			times++
		}
	}
	if told != 10+50 || times != 6 {
		t.Errorf("told %d in %d lines, want 60 in 6", told, times)
	}
	if s.news(20, start.Add(time.Hour)) != 0 || s.news(22, start.Add(time.Hour)) != 2 {
		t.Error("what was taken back is told, or what came then is not")
	}
}
