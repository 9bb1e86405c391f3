package snapshot

import (
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/rosbag"
)

// cut returns a chunk as it belongs into a snapshot: the first ones are rewritten, and so is each one
// that begins before the window. Beside the chunks of large messages, the open chunk is one of these
// although it is not the first.
func (w *Writer) cut(sn *Snapshot, c *latch.Chunk) (_ *latch.Chunk, wanted bool) {
	if sn.firstDone && !c.FirstAt().Before(sn.From) {
		return c, true
	}
	return w.rewriteFirst(sn, c)
}

// rewriteFirst rewrites one of the first chunks of a snapshot. The new chunk has no messages from before
// the window; those that are latched become part of the state that the snapshot begins with. The first
// chunk begins with the records of all connections that later chunks use, so that what a crash leaves of
// the snapshot can be read. A chunk with one large message, or for which there is no memory, stays as it
// is. wanted is false if no message is in the window.
func (w *Writer) rewriteFirst(sn *Snapshot, old *latch.Chunk) (c *latch.Chunk, wanted bool) {
	from, done := w.windowIn(sn, old), sn.firstDone
	if from > 0 && sn.From.After(old.LastAt()) && w.divide(sn, old, from, nil) == nil {
		w.Buffers.GiveBack(old)
		return nil, false
	}
	if old.Sealed().UncompressedBytes > int64(max(2*w.Packer.ChunkBytes, leastLarge)) &&
		old.MessageCount() == 1 {
		return old, true
	}
	sn.firstDone = true
	fresh := w.Buffers.FreshChunk(int(old.Sealed().UncompressedBytes))
	if fresh == nil {
		return old, true
	}
	fresh.Builder().Reset(nil)
	if !done {
		sn.addConns([]*latch.Chunk{old}) // a chunk of the post-roll may have new ones
		for _, c := range sn.Conns {
			fresh.Builder().AppendRun(c, rosbag.Time{}, nil, 0)
		}
	}
	err := w.divide(sn, old, from, fresh.Builder())
	switch {
	case err == nil && fresh.Builder().Messages() == 0:
		sn.firstDone = done
		w.Buffers.Release(fresh)
		w.Buffers.GiveBack(old)
		return nil, false
	case err == nil:
		if failed := fresh.Seal(w.pack); failed != nil {
			w.pack = nil
			encode.WarnUncompressed(w.Log, failed)
		}
	}
	if err != nil {
		w.Log.Warn("a snapshot begins with a chunk as it is", zap.Error(err))
		w.Buffers.Release(fresh)
		return old, true
	}
	w.Buffers.GiveBack(old)
	w.Buffers.CountGrown(fresh)
	fresh.Came(old.FirstAt(), old.LastAt())
	return latch.InBuffer(fresh, 0), true
}

// windowIn returns how long after the first message of a chunk the window of a snapshot begins, by the
// stamps of the messages. It is zero if the whole chunk is in the window.
func (w *Writer) windowIn(sn *Snapshot, c *latch.Chunk) time.Duration {
	before, span := sn.From.Sub(c.FirstAt()), c.LastAt().Sub(c.FirstAt()) // by the monotonic clock
	switch {
	case before <= 0:
		return 0
	case span <= 0:
		return before
	}
	// Stamps of a simulated or set clock pass at another rate: the part of the span counts then.
	if clock := clockOf(c); w.Sim != nil || clock.back > 0 {
		return time.Duration(float64(before) / float64(span) * float64(clock.passed))
	}
	return before
}

// stampClock measures time by the stamps of messages, in the order of their arrival. A stamp that is a
// little behind the latest one is that of a publisher that another one has overtaken. A stamp that is far
// behind means that the clock was set back; then no time passes.
type stampClock struct {
	begun  bool
	first  rosbag.Time
	passed time.Duration // from the first message to the latest stamp, without steps back of the clock
	back   time.Duration // the sum of all steps back of the clock
}

// clockStep is how far behind the latest one a stamp has to be for a step back of the clock.
const clockStep = time.Second

// at returns the time from the first message to m. A mark may be dated back, so it counts as if it came
// together with the message before it.
func (p *stampClock) at(m *rosbag.Message) time.Duration {
	if m.Conn.Topic == note.MarksTopic {
		return p.passed
	}
	if !p.begun {
		p.begun, p.first = true, m.Time
	}
	at := m.Time.Sub(p.first) + p.back
	if step := p.passed - at; step > clockStep {
		p.back += step
		at = p.passed
	}
	p.passed = max(p.passed, at)
	return at
}

// clockOf returns the clock after all messages of a chunk, or after those that can be read.
func clockOf(c *latch.Chunk) (p stampClock) {
	for m, err := range c.Sealed().Messages() {
		if err != nil {
			break
		}
		p.at(m)
	}
	return p
}

// divide cuts off the messages of c that come earlier than from after the first one, and appends the
// others to b in their order. If from is zero, no message is cut off, not even a mark with a time before
// the first message; with a nil b, all messages are. The latched messages among those cut off become part
// of the state that sn begins with; it is an error if there is no memory for them.
func (w *Writer) divide(sn *Snapshot, c *latch.Chunk, from time.Duration, b *chunk.Builder) error {
	latching := w.Accounts.LatchingOf(c.Sealed())
	if b == nil && len(latching) == 0 {
		return nil
	}
	var cut []*latch.Message
	var clock stampClock
	last := map[*latch.Source]int{} // the index in cut of the latest message of each source
	for m, err := range c.Sealed().Messages() {
		switch {
		case err != nil:
			return err
		case (from == 0 || clock.at(m) >= from) && b != nil:
			b.AppendRun(m.Conn, m.Time, m.Frame, 1)
		case latching[m.Conn.ID] != nil:
			of := latching[m.Conn.ID]
			if i, ok := last[of]; ok {
				cut[i] = nil // there is a later one
			}
			last[of] = len(cut)
			cut = append(cut, latch.Borrow(of, m.Frame))
		}
	}
	cut = slices.DeleteFunc(cut, func(l *latch.Message) bool { return l == nil })
	return w.Buffers.AddCut(&sn.State, cut)
}

// leastLarge is the size in bytes from which a message counts as large, so that its chunk may stay as it is.
const leastLarge = 1 << 20
