package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/queue"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
	"github.com/gorosbag/gorosbag/rosbag"
)

// append copies a run of whole frames into the open chunk.
func (in *Intake) append(c *account.Connection, run []byte, count int, received time.Time) {
	times := in.timesOf(received, count)
	in.mu.Lock()
	defer in.mu.Unlock()
	c.Came(received, count, run)
	if in.mode.State != control.StateRecording {
		c.NoteUnrecorded(count)
		if c.Latching() {
			in.Buffers.latched.Remember(c.Source(), rosbag.LastFrame(run))
		}
		return
	}
	in.rotateIfDueLocked(received)
	in.filling.Saw(received)
	if c.Topic().KeepsAll() && times.step > 0 {
		in.addLocked(c, run, count, times)
		return
	}
	for frame := range rosbag.Frames(run) {
		if in.mode.HasEnough(c.Topic()) {
			return
		}
		if c.Topic().Keep(in.cfg.Sim.Steady(received)) {
			in.addLocked(c, frame, 1, times)
		}
		times.skip()
	}
}

// addLocked copies frames that the limits of the topic let pass. It may wait for room, without the lock
// meanwhile, and it may begin the next file. So the caller must not rely on what it has seen of the state
// before. Nothing that endFileLocked or beginFileLocked call may call addLocked: a file would end while
// it ends. What a file is to begin or end with goes into the command for the sink, as the latched
// messages of a queue.FileStart do.
func (in *Intake) addLocked(c *account.Connection, run []byte, count int, times runTimes) {
	for count > 0 {
		switch {
		case in.mode.HasEnough(c.Topic()):
			return
		case in.mode.Ended: // the file has failed; the links go on until they are closed
			c.Topic().Drop(control.DropDisk, uint64(count))
			return
		case in.mode.State != control.StateRecording: // paused or stopped while this link waited for room
			c.NoteUnrecorded(count)
			return
		case !in.Buffers.pool.Admits(c.Topic().Memory(),
			in.Buffers.pool.Weight(len(run)+count*RecordOverhead+c.NewRecord(in.rotation.Part())), true):
			c.Topic().Drop(control.DropBufferFull, uint64(count))
			return
		case in.filling.Open == nil && !in.waitForChunkLocked(c.Topic()):
			if !in.mode.Accepts(c.Topic()) {
				continue
			}
			c.Topic().Drop(control.DropBufferFull, uint64(count))
			return
		}
		wanted := int(c.Topic().Wanted(uint64(count)))
		n, size := in.filling.Fit(run, wanted, wanted == count)
		in.filling.Append(c.Conn(), times.takeLocked(in, n), run[:size], n, times.received)
		in.filling.Open.Add(c.Topic().Memory(), in.Buffers.pool.Weight(size+n*RecordOverhead))
		c.NoteRecord(in.rotation.Part())
		in.countRecordedLocked(c.Topic(), uint64(n), uint64(size-4*n))
		if c.Latching() {
			in.Buffers.latched.Remember(c.Source(), rosbag.LastFrame(run[:size]))
		}
		run, count = run[size:], count-n
		if in.filling.Full() {
			in.sealOpenLocked()
			in.checkSizeLocked(times.received)
		}
	}
}

// sealOpenLocked submits the open chunk, if the chunk has messages.
func (in *Intake) sealOpenLocked() {
	if c := in.filling.Take(); c != nil {
		in.Buffers.pool.Settle(c)
		in.submitLocked(c)
	}
}

// submitLocked gives a chunk to the encoder and the sink, with the lock, so that the order of the queue
// is the order of the file.
func (in *Intake) submitLocked(c *memory.Chunk) {
	in.Buffers.pool.Count(c)
	in.Buffers.pool.Charge(c)
	c.QueuedFor(in.rotation.Part(), rotation.ChunkCost(c.Builder()))
	in.rotation.ChunkQueued(c.Cost(), c.Builder().Start(), time.Now())
	in.cfg.Encoder.Put(c)
	in.queue.Put(queue.Item{Chunk: c})
}

// countRecordedLocked counts messages of t that were put into a chunk.
func (in *Intake) countRecordedLocked(t *account.Topic, messages, bytes uint64) {
	t.Recorded(messages, bytes)
	if t.AtLimit() {
		in.room.Broadcast() // links of t no longer need room
		signal(in.limited)
	}
}

// waitForChunkLocked opens a chunk if none is open. If there is no room, it waits if links wait for room
// at all (OverflowBlock). It returns false if there is no room, or if messages of t are no longer
// recorded.
func (in *Intake) waitForChunkLocked(t *account.Topic) bool {
	var w *account.Wait
	for in.filling.Open == nil && in.mode.Accepts(t) { // another link may open one while we wait
		// Beyond their minimum, shared chunks leave the memory to a large message that waits.
		if !in.Buffers.pool.LargeFirst() && in.openChunkLocked() {
			break
		}
		if !in.Buffers.pool.Blocks() {
			return false
		}
		w = in.waitLocked(t, w)
	}
	if w != nil {
		t.EndWait(w, time.Now())
	}
	return in.filling.Open != nil && in.mode.Accepts(t)
}

// openChunkLocked opens a chunk if none is open. It returns false if there is no room.
func (in *Intake) openChunkLocked() bool {
	if in.filling.Open == nil {
		c := in.Buffers.pool.Open()
		if c == nil {
			return false
		}
		in.filling.Begin(c, in.sealLimitLocked())
	}
	return true
}

// sealLimitLocked returns the length beyond which the open chunk is sealed: the chunk size, or less if
// the file reaches its maximum size before.
func (in *Intake) sealLimitLocked() int {
	left := in.rotation.Left()
	if in.cfg.Encoder.Compresses() {
		// left is an estimate, which is not worth many small chunks
		left = max(left, int64(in.Buffers.pool.ChunkBytes())/8)
	}
	return int(max(min(int64(in.Buffers.pool.ChunkBytes()), left), 0))
}

// waitLocked waits until there may be room for a link of t, without the lock. w is the wait of the link
// so far; nil if it begins now.
func (in *Intake) waitLocked(t *account.Topic, w *account.Wait) *account.Wait {
	if w == nil {
		w = t.BeginWait(time.Now())
	}
	in.room.Wait()
	return w
}

// signal puts a token into a channel of one token, unless the channel has one already.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
