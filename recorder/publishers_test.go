package recorder

import (
	"errors"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestMissedMessages: gaps are counted over small and large messages and over links,
// and what is dropped here is no gap.
func TestMissedMessages(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{BufferBytes: 4 << 20}, nil)
	topic := p.AddTopic("/t", "/t", time.Time{})
	l, err := p.OpenLink(topic, testlink.HeaderInfo("/t", "p"))
	if err != nil {
		t.Fatal(err)
	}
	l.Frames(testlink.Numbered(testlink.Count(0, 10)...), 10, time.Now())
	sendLarge(t, l, 12, 200_000) // 10 and 11 are missing
	sendLarge(t, l, 13, 8<<20)   // larger than the buffer: dropped, not missed
	l.Frames(testlink.Numbered(14, 15), 2, time.Now())
	l.Closed(errors.New("cut"))
	if l, err = p.OpenLink(topic, testlink.HeaderInfo("/t", "p")); err != nil {
		t.Fatal(err)
	}
	l.Frames(testlink.Numbered(19), 1, time.Now()) // 16 to 18 came while there was no link
	other, err := p.OpenLink(topic, testlink.HeaderInfo("/t", "q"))
	if err != nil {
		t.Fatal(err)
	}
	other.Frames(testlink.Numbered(testlink.Count(500, 5)...), 5, time.Now())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	s := control.Summary{Topics: accountsNow(p)}
	ts := s.Topics[1] // after the account itself
	if ts.Publishers[0].Missed != 5 || ts.Publishers[1].Missed != 0 || s.Dropped() != 1 || ts.Publishers[0].LinksLost != 1 {
		t.Errorf("%+v", ts)
	}
	if want := "1 message was lost, 5 messages were published and never arrived, links to publishers were lost (1)"; s.Losses() != want {
		t.Errorf("%q, want %q", s.Losses(), want)
	}
}

// TestNoNumbersOfLatched: their numbers have gaps that are none.
func TestNoNumbersOfLatched(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	info := testlink.LatchingInfo("/t", "p")
	udp := testlink.HeaderInfo("/t", "q")
	udp.Transport = "UDPROS"
	for _, info := range []tcpros.LinkInfo{info, udp, testlink.Info("/t", "r")} {
		l, err := p.OpenLink(p.AddTopic("/t", "/t", time.Time{}), info)
		if err != nil {
			t.Fatal(err)
		}
		l.Frames(testlink.Numbered(1, 2, 3, 4, 5, 6, 9), 7, time.Now())
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if s := (control.Summary{Topics: accountsNow(p)}); s.Losses() != "" {
		t.Errorf("%+v", s)
	}
}
