package recorder

import (
	"errors"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestMissedMessages: holes are counted over small and large messages and over links,
// and what is dropped here is no hole.
func TestMissedMessages(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{BufferBytes: 4 << 20}, nil)
	topic := p.Links().AddTopicOf("/t", "/t", time.Time{})
	l, err := p.Links().OpenLink(topic, testlink.HeaderInfo("/t", "p"))
	if err != nil {
		t.Fatal(err)
	}
	l.Frames(testlink.Numbered(testlink.Count(0, 10)...), 10, time.Now())
	testlink.Large(t, l, 12, 200_000) // 10 and 11 are missing
	testlink.Large(t, l, 13, 8<<20)   // larger than the buffer: dropped, not missed
	l.Frames(testlink.Numbered(14, 15), 2, time.Now())
	l.Closed(errors.New("cut"))
	if l, err = p.Links().OpenLink(topic, testlink.HeaderInfo("/t", "p")); err != nil {
		t.Fatal(err)
	}
	l.Frames(testlink.Numbered(19), 1, time.Now()) // 16 to 18 came while there was no link
	other, err := p.Links().OpenLink(topic, testlink.HeaderInfo("/t", "q"))
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

// TestNoNumbersOfLatched: their numbers have holes that are none.
func TestNoNumbersOfLatched(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	info := testlink.LatchingInfo("/t", "p")
	udp := testlink.HeaderInfo("/t", "q")
	udp.Transport = "UDPROS"
	for _, info := range []tcpros.LinkInfo{info, udp, testlink.Info("/t", "r")} {
		l, err := p.Links().OpenLink(p.Links().AddTopicOf("/t", "/t", time.Time{}), info)
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

func TestWatchingAllocatesNothing(t *testing.T) {
	p := testPipeline(t, Options{Compression: rosbag.CompressionNone}, nil)
	l, err := p.Links().OpenLink(p.Links().AddTopicOf("/t", "/t", time.Time{}), testlink.HeaderInfo("/t", "p"))
	if err != nil {
		t.Fatal(err)
	}
	var w loss.Sequence
	run := testlink.Numbered(testlink.Count(0, 100)...)
	if n := testing.AllocsPerRun(100, func() {
		l.CountMissed(w.Run(run, 100))
		w = loss.Sequence{}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

// TestLargeMessagesHaveNumbers: they are read wherever the message goes in pieces. One
// that was given up, or is too short for a number, is no hole.
func TestLargeMessagesHaveNumbers(t *testing.T) {
	t.Parallel()
	info := testlink.Info("/map", "/p")
	for i := range info.Header {
		if info.Header[i].Key == "message_definition" {
			info.Header[i].Value = "Header header\nuint8[] data\n"
		}
	}
	p := testPipeline(t, Options{Sync: SyncNone}, nil)
	l, err := p.Links().OpenLink(p.Links().AddTopicOf("/map", "/map", time.Time{}), info)
	if err != nil {
		t.Fatal(err)
	}
	large := func(seq uint32, giveUp bool) {
		f := testlink.Frame(seq, 0, 200_000)
		m := l.Large(len(f))
		if giveUp {
			l.Watched.LargeFrame = refusal{l.Watched.LargeFrame}
		}
		for rest := f; len(rest) > 0; {
			room := m.Room(min(len(rest), 50_000))
			if room == nil {
				return
			}
			rest = rest[copy(room, rest):]
		}
		m.Commit(time.Now())
	}
	missed := func() uint64 {
		p.Mu.Lock()
		defer p.Mu.Unlock()
		return l.Publisher.Summary(time.Now()).Missed
	}
	for seq := range uint32(5) {
		large(seq, false)
	}
	large(7, false)
	if n := missed(); n != 2 {
		t.Errorf("%d missing, want 2", n)
	}
	large(8, true)
	large(9, false)
	if n := missed(); n != 2 {
		t.Errorf("%d missing, want 2: a message that was given up is not one of the publisher's queue", n)
	}
	l.Frames(testlink.Numbered(11), 1, time.Now())
	if n := missed(); n != 3 {
		t.Errorf("%d missing, want 3", n)
	}
	// The first piece has the number, or all but its last byte: then the message is taken for the next.
	for i, first := range []int{8, 7, 8} {
		f := testlink.Frame(uint32(13+2*i), 0, 200_000)
		m := l.Large(len(f))
		copy(m.Room(first), f)
		for rest := f[first:]; len(rest) > 0; {
			rest = rest[copy(m.Room(len(rest)), rest):]
		}
		m.Commit(time.Now())
		if n, want := missed(), []uint64{4, 4, 6}[i]; n != want {
			t.Errorf("first piece of %d bytes: %d missing, want %d", first, n, want)
		}
	}
	closePipeline(t, p)
	if n := accountOf(l).Recorded; n != 11 {
		t.Errorf("%d messages, want 11", n)
	}
}

// refusal is a large message for which there is no room.
type refusal struct{ tcpros.LargeFrame }

// Room gives the message up.
func (r refusal) Room(int) []byte {
	r.Abort()
	return nil
}
