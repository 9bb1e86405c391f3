package snapshot

import (
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/rosbag"
)

// root makes the first chunk of a snapshot anew: with the messages of the window only, and with the records of all
// connections that later chunks rely on, so that the bag can be read even if a crash ends it. A chunk that is one
// large message stays as it is, and so does a chunk if there is no memory for another. wanted is false if no message
// of the chunk is in the window.
func (w *Writer) root(sn *Snapshot, old *latch.Chunk) (c *latch.Chunk, wanted bool) {
	var from time.Duration
	before, span := sn.From.Sub(old.FirstAt), old.LastAt.Sub(old.FirstAt) // by the monotonic clock, whatever others do
	if before > 0 && span > 0 {
		from = before
		if p := passageOf(old); w.In.Simulated() || p.back > 0 {
			from = time.Duration(float64(before) / float64(span) * float64(p.passed))
		}
	}
	if from > 0 && before > span && w.divide(sn, old, from, nil) == nil {
		w.In.GiveBack(old)
		return nil, false
	}
	if old.UncompressedBytes > int64(max(2*w.In.ChunkBytes(), leastLarge)) && old.MessageCount() == 1 {
		return old, true
	}
	sn.rooted = true
	fresh := w.In.FreshChunk(int(old.UncompressedBytes))
	if fresh == nil {
		return old, true
	}
	fresh.Builder.Reset(nil)
	sn.addConns([]*latch.Chunk{old}) // some may be new
	for _, c := range sn.Conns {
		fresh.Builder.AppendRun(c, rosbag.Time{}, nil, 0)
	}
	err := w.divide(sn, old, from, &fresh.Builder)
	switch {
	case err == nil && fresh.Builder.Messages() == 0:
		sn.rooted = false
		w.In.Release(fresh)
		w.In.GiveBack(old)
		return nil, false
	case err == nil:
		fresh.Seal(w.pack)
		err = fresh.Err
	}
	if err != nil {
		w.Log.Warn("a snapshot begins with a chunk as it is", zap.Error(err))
		w.In.Release(fresh)
		return old, true
	}
	w.In.GiveBack(old)
	w.In.Count(fresh)
	return &latch.Chunk{Sealed: fresh.Sealed, Buffer: fresh}, true
}

// passage measures the time that passes by the stamps of messages in the order of their arrival.
// Publishers overtake each other by little; a larger step back is one of the clock, over which
// no time passes.
type passage struct {
	begun  bool
	first  rosbag.Time
	passed time.Duration // until the latest stamp
	back   time.Duration // by which the clock has gone back, all steps together
}

// clockStep is how far a stamp is behind the latest one at least where the clock has gone back.
const clockStep = time.Second

// of returns the time from the first message to m. The stamp of a mark may be earlier than that of the message before
// the mark: the mark comes at the time of that message.
func (p *passage) of(m *rosbag.Message) time.Duration {
	if m.Conn.Topic == bagnote.MarksTopic {
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

// passageOf measures a whole chunk, as far as it can be read.
func passageOf(c *latch.Chunk) (p passage) {
	for m, err := range c.Messages() {
		if err != nil {
			break
		}
		p.of(m)
	}
	return p
}

// divide appends to b, in their order, the messages of c that come at from or later, counted from the first message.
// If from is zero these are all messages, also those with earlier stamps than the first one, as marks may have. The
// latched messages before from become part of the state where sn begins; it is an error if there is no memory for
// them.
func (w *Writer) divide(sn *Snapshot, c *latch.Chunk, from time.Duration, b *chunk.Builder) error {
	latching := w.In.LatchingOf(c.Sealed)
	if b == nil && len(latching) == 0 {
		return nil
	}
	var cut []*latch.Message
	var passed passage
	last := map[*latch.Source]int{} // the place of its latest message in cut
	for m, err := range c.Messages() {
		switch {
		case err != nil:
			return err
		case (from == 0 || passed.of(m) >= from) && b != nil:
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
	return w.In.AddCut(&sn.State, cut)
}

// leastLarge is the least size of a message whose chunk stays as it is, in bytes.
const leastLarge = 1 << 20
