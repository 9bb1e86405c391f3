package recorder

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/tcpros"
)

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
	if want := "1 message was lost, 5 messages were published and never arrived, links to publishers were lost (1)"; s.Losses() != want {
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
	var w loss.Sequence
	run := numbered(count(0, 100)...)
	if n := testing.AllocsPerRun(100, func() {
		l.countMissed(w.Run(run, 100))
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
	info := linkInfo("/map", "/p")
	for i := range info.Header {
		if info.Header[i].Key == "message_definition" {
			info.Header[i].Value = "Header header\nuint8[] data\n"
		}
	}
	p := testPipeline(t, Options{Sync: SyncNone}, nil)
	l, err := p.openLink(p.addTopic("/map"), info)
	if err != nil {
		t.Fatal(err)
	}
	large := func(seq uint32, giveUp bool) {
		f := frame(seq, 0, 200_000)
		m := l.Large(len(f))
		if giveUp {
			l.watched.LargeFrame = refusal{l.watched.LargeFrame}
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
		p.mu.Lock()
		defer p.mu.Unlock()
		return l.publisher.Account(time.Now()).Missed
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
	l.Frames(numbered(11), 1, time.Now())
	if n := missed(); n != 3 {
		t.Errorf("%d missing, want 3", n)
	}
	// The first piece has the number, or all but its last byte: then the message is taken for the next.
	for i, first := range []int{8, 7, 8} {
		f := frame(uint32(13+2*i), 0, 200_000)
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
	if n := accountOf(l).recorded; n != 11 {
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

// numbered makes frames back to back whose payloads begin with the numbers.
func numbered(seqs ...uint32) []byte {
	var run []byte
	for _, seq := range seqs {
		run = binary.LittleEndian.AppendUint32(run, 12)
		run = binary.LittleEndian.AppendUint32(run, seq)
		run = append(run, "8 bytes."...)
	}
	return run
}

// count returns n numbers from first on.
func count(first uint32, n int) []uint32 {
	seqs := make([]uint32, n)
	for i := range seqs {
		seqs[i] = first + uint32(i)
	}
	return seqs
}
