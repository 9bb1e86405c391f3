package intake

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
)

// linkOf opens a link of a publisher.
func linkOf(t *testing.T, in *Intake, info tcpros.LinkInfo) *Link {
	t.Helper()
	l, err := in.OpenLink(in.Accounts.AddTopic(topicname.InBag(info.Topic), topicname.InGraph(info.Topic), time.Time{}), info)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestWatchingAllocatesNothing: the numbers of messages are looked at for nothing.
func TestWatchingAllocatesNothing(t *testing.T) {
	l := linkOf(t, bareIntake(-1, 100), testlink.HeaderInfo("/t", "p"))
	var w loss.Sequence
	run := testlink.Numbered(testlink.Count(0, 100)...)
	if n := testing.AllocsPerRun(100, func() {
		l.countMissed(w.Run(run, 100))
		w = loss.Sequence{}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestLargeMessagesHaveNumbers: they are read wherever the message goes in pieces. One
// that was given up, or is too short for a number, is no gap.
func TestLargeMessagesHaveNumbers(t *testing.T) {
	t.Parallel()
	in := bareIntake(-1, 100)
	l := linkOf(t, in, testlink.DefinitionInfo("/map", "/p", "Header header\nuint8[] data\n"))
	large := func(seq uint32, giveUp bool) {
		f := testlink.Frame(seq, 0, 2*trusted)
		m := l.Large(len(f))
		if giveUp {
			in.Buffers.pool.SetBudget(1) // until the message needs more memory
			defer in.Buffers.pool.SetBudget(-1)
		}
		if testlink.Fill(m, f) == giveUp {
			t.Fatalf("message %d was given up: %v", seq, !giveUp)
		} else if !giveUp {
			m.Commit(time.Now())
		}
	}
	missed := func() uint64 { return l.publisher.Summary(time.Now()).Missed }
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
	// The first piece has the number, or all but its last byte.
	for i, first := range []int{8, 7, 8} {
		f := testlink.Frame(uint32(13+2*i), 0, 200_000)
		m := l.Large(len(f))
		copy(m.Room(first), f)
		for rest := f[first:]; len(rest) > 0; {
			rest = rest[copy(m.Room(len(rest)), rest):]
		}
		m.Commit(time.Now())
		if n, want := missed(), []uint64{4, 5, 6}[i]; n != want {
			t.Errorf("first piece of %d bytes: %d missing, want %d", first, n, want)
		}
	}
	testlink.SendLarge(l, []byte{2, 0, 0, 0, 1, 1})
	large(19, false)
	if n := missed(); n != 6 {
		t.Errorf("%d missing, want 6: a message without a number is no gap", n)
	}
	if n := l.connection.Topic().Tally().Messages; n != 13 {
		t.Errorf("%d messages, want 13", n)
	}
}
