package intake

import (
	"encoding/binary"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/command"
	"github.com/gorosbag/gorosbag/recorder/internal/filling"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/rosbag"
)

// append copies a run of whole frames into the open chunk.
func (in *Intake) append(c *account.Connection, run []byte, count int, received time.Time) {
	// The last frame was complete at received. The times of a run are one nanosecond apart, so that tools that
	// sort by time keep the order. With a simulated clock many messages have the same time, as in stock.
	step := in.cfg.Sim.Step()
	first := rosbag.TimeOf(in.cfg.Sim.At(received)).Add(-step * time.Duration(count-1))
	in.Mu.Lock()
	defer in.Mu.Unlock()
	c.Topic.Last, c.Latest = received, received
	if in.Mode.State != control.StateRecording {
		c.NoteUnrecorded(count)
		if c.Latching {
			in.Latched.Remember(&c.Source, latch.LastFrame(run))
		}
		return
	}
	in.rotateIfDue(received)
	in.Filling.Saw(received)
	if c.Topic.Sampler.KeepsAll() && step > 0 {
		in.add(c, run, count, first, received)
		return
	}
	for count > 0 && !in.hasEnough(c.Topic) {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		if c.Topic.Sampler.Keep(in.cfg.Sim.Steady(received)) {
			in.add(c, run[:size], 1, first, received)
		}
		first = first.Add(step)
		run, count = run[size:], count-1
	}
}

// add copies frames that the limits of the topic let pass. first is the time of the first frame in the bag. mu is held.
func (in *Intake) add(c *account.Connection, run []byte, count int, first rosbag.Time, received time.Time) {
	for count > 0 {
		switch {
		case in.hasEnough(c.Topic):
			return
		case in.Mode.Ended: // the file failed: the links go on until they are closed
			c.Topic.Drop(control.DropDisk, uint64(count))
			return
		case in.Mode.State != control.StateRecording: // paused or stopped while this link waited for room
			c.NoteUnrecorded(count)
			return
		case !in.Pool.Admits(&c.Topic.Memory, in.Pool.Weight(len(run)+count*filling.RecordOverhead+c.NewRecord(in.Rotation.Part())), true):
			c.Topic.Drop(control.DropBufferFull, uint64(count))
			return
		case in.Filling.Open == nil && !in.waitForChunk(c.Topic):
			if !in.accepts(c.Topic) {
				continue
			}
			c.Topic.Drop(control.DropBufferFull, uint64(count))
			return
		}
		wanted := int(c.Topic.Wanted(uint64(count)))
		n, size := in.Filling.Fit(run, wanted, wanted == count)
		in.Filling.Append(c.Conn, first, run[:size], n, received)
		in.Filling.Open.Add(&c.Topic.Memory, in.Pool.Weight(size+n*filling.RecordOverhead))
		c.NoteRecord(in.Rotation.Part())
		in.took(c.Topic, uint64(n), uint64(size-4*n))
		if c.Latching {
			in.Latched.Remember(&c.Source, latch.LastFrame(run[:size]))
		}
		first = first.Add(time.Duration(n))
		run, count = run[size:], count-n
		if in.Filling.Full() {
			in.sealOpen()
			in.checkSize(received)
		}
	}
}

// sealOpen submits the open chunk, if the chunk has messages. mu is held.
func (in *Intake) sealOpen() {
	if c := in.Filling.Take(); c != nil {
		in.Pool.Settle(c)
		in.submit(c)
	}
}

// submit gives a chunk to the encoder and the sink. mu is held, so that the
// order of the queue is the order of the file.
func (in *Intake) submit(c *memory.Chunk) {
	in.Pool.Count(c)
	in.Pool.Charge(c)
	c.Part, c.Cost = in.Rotation.Part(), rotation.ChunkCost(&c.Builder)
	in.Rotation.Queue(c.Cost)
	in.cfg.Encoder.Put(c)
	in.queue.Put(command.Item{Chunk: c})
}

// took counts messages of t that were put into a chunk.
func (in *Intake) took(t *account.Topic, messages, bytes uint64) {
	t.Add(account.Tally{Messages: messages, Bytes: bytes})
	if t.AtLimit() {
		in.Room.Broadcast() // links of t need not wait any more
		signal(in.limited)
	}
}

// waitForChunk opens a chunk if none is open, and waits for room where links wait. It returns false if there is
// no room, or if messages of t are no longer recorded. mu is held.
func (in *Intake) waitForChunk(t *account.Topic) bool {
	var w *account.Wait
	for in.Filling.Open == nil && in.accepts(t) { // another link may open one while we wait
		// Beyond a minimum, the memory that is left is for a large message that waits.
		if !in.Pool.LargeFirst() && in.OpenChunk() {
			break
		}
		if !in.Pool.Blocks {
			return false
		}
		w = in.wait(t, w)
	}
	if w != nil {
		t.EndWait(w, time.Now())
	}
	return in.Filling.Open != nil && in.accepts(t)
}

// OpenChunk opens a chunk if none is open. It returns false if there is no room. mu is held.
func (in *Intake) OpenChunk() bool {
	if in.Filling.Open == nil {
		c := in.Pool.Open()
		if c == nil {
			return false
		}
		in.Filling.Begin(c, in.sealLimit())
	}
	return true
}

// sealLimit returns the length beyond which the open chunk is sealed: the chunk size,
// or less where the file has its size before. mu is held.
func (in *Intake) sealLimit() int {
	left := in.Rotation.Left()
	if in.cfg.Encoder.Compresses() {
		left = max(left, int64(in.Pool.ChunkBytes)/8) // an estimate: not worth many small chunks
	}
	return int(max(min(int64(in.Pool.ChunkBytes), left), 0))
}

// wait waits until there may be room for a link of t. w is the wait that goes on; nil if a wait begins. mu is
// held, and released meanwhile.
func (in *Intake) wait(t *account.Topic, w *account.Wait) *account.Wait {
	if w == nil {
		w = t.BeginWait(time.Now())
	}
	in.Room.Wait()
	return w
}

// signal puts a token into a channel of one token, unless the channel has one already.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// release takes the buffer of a chunk back, which was written or given up.
func (in *Intake) release(c *memory.Chunk) {
	in.Mu.Lock()
	in.Pool.Put(c)
	in.Mu.Unlock()
}
