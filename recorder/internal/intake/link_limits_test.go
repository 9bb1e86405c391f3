package intake

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// bareLink is a link of an intake without a file, whose connection record takes so many bytes.
func bareLink(in *Intake, recordBytes int) *Link {
	const key = "message_definition"
	header := rosbag.Header{{Key: key, Value: strings.Repeat("#", recordBytes-5-len(key))}}
	return &Link{in: in, connection: in.Accounts.all.Connect(in.Accounts.all.AddTopic("/t", "/t", time.Time{}), header)}
}

// TestLargestMessage: one that fits the whole buffer with its connection record and what is
// around it is received, a byte more is too large. Where links wait, half of the buffer is the bound.
// The account says which buffer the message needs.
func TestLargestMessage(t *testing.T) {
	t.Parallel()
	const budget, record = 8 << 20, 100_000
	for _, blocks := range []bool{false, true} {
		most := budget
		if blocks {
			most = budget / 2
		}
		for size, want := range map[int]bool{most - largeOverhead - record: true, most - largeOverhead - record + 1: false} {
			in := bareIntakeWith(memory.Options{Limit: budget, ChunkBytes: 100, Blocks: blocks})
			l := bareLink(in, record)
			f := l.Large(size)
			if got := dropped(in, control.DropOversize); (f != nil) != want || (got == 0) != want {
				t.Errorf("links wait %v: a message of %d bytes is received: %v, %d were too large", blocks, size, f != nil, got)
			}
			if f != nil {
				continue
			}
			needed := int64(budget + 1)
			if blocks {
				needed++
			}
			if got := in.Accounts.all.NewDrops(time.Now()); len(got) != 1 || got[0].BufferNeeded != needed {
				t.Errorf("links wait %v: %+v, want a buffer of %d bytes", blocks, got, needed)
			}
		}
	}
}

// TestAnnouncedBytesCountLittle: a message counts for its connection record and 1 MiB until
// more has come.
func TestAnnouncedBytesCountLittle(t *testing.T) {
	t.Parallel()
	const record = 300_000
	in := bareIntake(64<<20, 100)
	if f := bareLink(in, record).Large(20 << 20); f == nil {
		t.Fatal("refused")
	}
	if got, want := in.Buffers.pool.Usage().Held, int64(1<<20+record); got != want {
		t.Errorf("20 MiB that were announced count %d bytes, want %d", got, want)
	}
}

// TestLargeMessageTakesAFreeBuffer, where messages are dropped, if its publisher is proven.
func TestLargeMessageTakesAFreeBuffer(t *testing.T) {
	t.Parallel()
	in := bareIntake(64<<20, 100)
	free := usedChunk(t, in.Buffers.pool, 2<<20)
	in.Buffers.pool.Put(free)
	l := bareLink(in, 100)
	l.connection.Arrived(time.Now(), nil)
	if l.Large(2<<20 - largeOverhead - 1000); l.frame.turn.Chunk() != free {
		t.Error("it has another buffer")
	}
}

// TestWhichLargeMessagesRelyOnARecord: those that are less than a hundred times as long as
// it, if their file has it.
func TestWhichLargeMessagesRelyOnARecord(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]bool{100_000 - 1: true, 100_000: false} {
		in := bareIntake(64<<20, 100)
		l := bareLink(in, 1000)
		if l.Large(size); l.frame.relies {
			t.Errorf("a message of %d bytes relies on a record that no file has", size)
		}
		l.frame.Abort()
		l.connection.NoteRecord(in.rotation.Part())
		if l.Large(size); l.frame.relies != want {
			t.Errorf("a message of %d bytes relies on the record: %v, want %v", size, !want, want)
		}
	}
}

// TestLatchedMessageOfAThinTopic: while nothing is recorded each is remembered, however few
// are recorded otherwise.
func TestLatchedMessageOfAThinTopic(t *testing.T) {
	t.Parallel()
	in := bareIntake(64<<20, 100)
	in.mode.State = control.StatePaused
	limit(in, account.Limit{Topics: "**", Every: 10})
	l := bareLink(in, 100)
	in.Buffers.latched.Connected(l.connection.Source(), true)
	for n := range uint32(3) {
		m := l.Large(2000)
		if m == nil {
			t.Fatalf("message %d is not received", n)
		}
		f := testlink.Frame(1, n, 1996)
		testlink.Fill(m, f)
		m.Commit(time.Now())
		all, _ := in.Buffers.latched.AtFile(in.Accounts.all.Sources(), false)
		if len(all) != 1 || !bytes.Equal(all[0].Frame(), f) {
			t.Errorf("message %d is not remembered", n)
		}
		in.Buffers.latched.Release(all)
	}
}

// TestLossesOfALimitedTopic: of messages that are too large, those that the limits select count as lost, and the
// others as left out.
func TestLossesOfALimitedTopic(t *testing.T) {
	t.Parallel()
	in := bareIntake(1<<20, 100)
	limit(in, account.Limit{Topics: "**", Every: 3})
	l := bareLink(in, 100)
	for range 6 {
		if l.Large(2<<20) != nil {
			t.Fatal("a message larger than the buffer is received")
		}
	}
	if s := topicStats(in); s.Dropped != 2 || dropped(in, control.DropOversize) != 2 || s.LeftOut != 4 {
		t.Errorf("%d lost, %d left out; want 2 and 4", s.Dropped, s.LeftOut)
	}
}

// TestLastOfLargeMessages: a large message that is not taken counts for the age of its topic all the same,
// whether a limit leaves it out, it is too large, or nothing is recorded.
func TestLastOfLargeMessages(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*Intake){
		"left out":  func(in *Intake) { limit(in, account.Limit{Topics: "**", Every: 2}) },
		"too large": func(in *Intake) { in.Buffers.pool = memory.New(memory.Options{Limit: 1000, ChunkBytes: 100}) },
		"paused":    func(in *Intake) { in.mode.State = control.StatePaused },
	} {
		in := bareIntake(64<<20, 100)
		set(in)
		l := bareLink(in, 100)
		l.connection.Topic().Keep(time.Now())
		before := time.Now()
		if l.Large(2000) != nil {
			t.Errorf("%s: the message is taken", name)
		}
		if last := topicStats(in).Last; last.Before(before) {
			t.Errorf("%s: the last message came at %v", name, last)
		}
	}
}

// TestMessageThatGrows: more memory is refused where light topics find room only without it,
// and what is counted already is not asked for again.
func TestMessageThatGrows(t *testing.T) {
	t.Parallel()
	const budget, chunkBytes = 64 << 20, 2 << 20
	for name, c := range map[string]struct {
		left    int64 // of the buffer, by the other messages
		reused  bool  // it has memory for all of it
		dropped uint64
	}{
		"with room for light topics":     {left: 16 << 20},
		"with their room only":           {left: 2*chunkBytes - 1, dropped: 1},
		"in memory that is counted":      {left: 0, reused: true},
		"without room, in new memory":    {left: 0, dropped: 1},
		"in counted memory, with a rest": {left: chunkBytes, reused: true},
	} {
		in := bareIntake(budget, chunkBytes)
		l := bareLink(in, 100)
		if c.reused {
			in.Buffers.pool.Put(usedChunk(t, in.Buffers.pool, 4<<20))
			l.connection.Arrived(time.Now(), nil)
		}
		m := l.Large(3 << 20)
		if m == nil {
			t.Fatalf("%s: refused", name)
		}
		testlink.Fill(m, make([]byte, 900_000))
		setHeld(in, budget-c.left)
		took := true
		for range 3 { // some of them need more memory
			if took = took && testlink.Fill(m, make([]byte, 600_000)); took {
				setHeld(in, max(in.Buffers.pool.Usage().Held, budget-c.left))
			}
		}
		if got := dropped(in, control.DropBufferFull); took != (c.dropped == 0) || got != c.dropped {
			t.Errorf("%s: received %v, %d dropped; want %d", name, took, got, c.dropped)
		}
	}
}

// TestMessageWithoutALeaseInAPause: what is not recorded is received to be remembered while that costs
// no wait. A message that lost its lease goes on if it can have one again, and is given up otherwise.
func TestMessageWithoutALeaseInAPause(t *testing.T) {
	t.Parallel()
	for others, want := range map[int64]bool{1 << 20: true, 4 << 20: false} {
		in := bareIntakeWith(memory.Options{Limit: 20 << 20, ChunkBytes: 100, Blocks: true})
		l := bareLink(in, 100)
		in.Buffers.latched.Connected(l.connection.Source(), true)
		testlink.Fill(l.Large(8<<20), make([]byte, 1<<20))
		loseLease(l)
		grantTo(t, in, holding(in, others, 100))
		in.mode.State = control.StatePaused
		if got := l.frame.grow(l.frame.turn.Chunk().Counted() + 1000); got != want {
			t.Errorf("beside a message of %d bytes it goes on: %v", others, got)
		}
	}
}

// TestFullBufferOfNoUse: a large message that nobody wants is not one that was dropped for
// want of room.
func TestFullBufferOfNoUse(t *testing.T) {
	t.Parallel()
	in := queueing(memory.Options{Limit: 1 << 20, ChunkBytes: 10_000}, nil)
	l := linkOf(t, in, testlink.Info("/t", "/p"))
	for lost(l) == 0 {
		testlink.SendLarge(l, testlink.Frame(0, 0, 200_000))
	}
	before := lost(l)
	in.mode.Full = true
	testlink.SendLarge(l, testlink.Frame(0, 0, 200_000))
	if n := lost(l); n != before {
		t.Errorf("dropped %d, before %d", n, before)
	}
}
