package bagfmt

import (
	"fmt"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/rosbag"
)

// sealAhead seals chunks of one Writer on other goroutines while the Writer fills
// the next one. The Writer alone fills and writes; what it hands over it does not
// touch before take. So the file is the same for any number of workers.
type sealAhead struct {
	workers chan *codec.Compressor // the idle ones
	queue   []*sealJob             // handed over and not yet taken, in file order
	free    []*sealJob
	jobs    int // made so far, the one being filled included
}

// sealJob is a chunk with all the memory it needs.
type sealJob struct {
	builder chunk.Builder
	packed  []byte
	chunk   *chunk.Sealed
	err     error
	sealed  chan struct{} // gets one token
}

func newSealAhead(c rosbag.Compression, workers int) (*sealAhead, error) {
	a := &sealAhead{workers: make(chan *codec.Compressor, workers)}
	for range workers {
		z, err := codec.NewCompressor(c)
		if err != nil {
			return nil, err
		}
		a.workers <- z
	}
	return a, nil
}

// full reports whether there is no memory for another chunk: one is filled, as many
// as there are workers are sealed, and one waits for its turn.
func (a *sealAhead) full() bool { return len(a.free) == 0 && a.jobs >= cap(a.workers)+2 }

// job returns memory for a chunk.
func (a *sealAhead) job() *sealJob {
	if n := len(a.free); n > 0 {
		j := a.free[n-1]
		a.free = a.free[:n-1]
		return j
	}
	a.jobs++
	return &sealJob{sealed: make(chan struct{}, 1)}
}

// start hands j over to the next idle worker.
func (a *sealAhead) start(j *sealJob) {
	a.queue = append(a.queue, j)
	// owner: Writer; ends when the chunk is sealed, and take waits for that.
	go func() {
		z := <-a.workers
		j.seal(z)
		a.workers <- z
		j.sealed <- struct{}{}
	}()
}

// seal never panics: the Writer has to be able to finish its file.
func (j *sealJob) seal(z *codec.Compressor) {
	defer func() {
		if r := recover(); r != nil {
			j.err = fmt.Errorf("sealing a chunk: panic: %v", r)
		}
	}()
	j.chunk, j.err = j.builder.Seal(z, j.packed)
	if j.err == nil && j.chunk.Compression != rosbag.CompressionNone {
		j.packed = j.chunk.Record[:0]
	}
}

// take waits for the oldest chunk in the queue. With wait unset it returns nil
// instead of waiting; it does so too when the queue is empty.
func (a *sealAhead) take(wait bool) *sealJob {
	if len(a.queue) == 0 {
		return nil
	}
	j := a.queue[0]
	if wait {
		<-j.sealed
	} else {
		select {
		case <-j.sealed:
		default:
			return nil
		}
	}
	n := copy(a.queue, a.queue[1:])
	a.queue = a.queue[:n]
	return j
}

// recycle makes the memory of j free for another chunk.
func (a *sealAhead) recycle(j *sealJob) {
	j.chunk, j.err = nil, nil
	a.free = append(a.free, j)
}

// flushAhead hands the open chunk over, writes what is sealed, and opens a chunk.
func (w *Writer) flushAhead() error {
	a := w.ahead
	a.start(w.job)
	err := w.writeSealed(a.full)
	w.job = a.job()
	w.open = &w.job.builder
	w.open.Reset(&w.records)
	return err
}

// writeSealed writes the chunks that are sealed, in order, and waits for more of
// them as long as wait says. After an error the chunks of the queue are given up.
func (w *Writer) writeSealed(wait func() bool) error {
	a := w.ahead
	for {
		j := a.take(wait() || w.failed() != nil)
		if j == nil {
			return w.failed()
		}
		if w.failed() == nil {
			if w.sealErr = j.err; j.err == nil {
				_ = w.writeChunk(j.chunk) // failed tells
			}
		}
		a.recycle(j)
	}
}

// drain writes all chunks that were handed over. When it returns no goroutine of
// the Writer is left.
func (w *Writer) drain() error {
	if w.ahead == nil {
		return nil
	}
	return w.writeSealed(func() bool { return true })
}
