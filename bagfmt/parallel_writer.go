package bagfmt

import (
	"fmt"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/queue/inorder"
	"github.com/gorosbag/gorosbag/rosbag"
)

// sealAhead seals chunks of one Writer on other goroutines while the Writer fills
// the next one. Only the Writer fills and writes chunks, and it does not touch a chunk
// between Start and Take. So the file is the same for any number of workers.
type sealAhead = inorder.Queue[sealJob, *chunk.Compressor]

// sealJob is a chunk with all the memory it needs.
type sealJob struct {
	builder chunk.Builder
	packed  []byte
	chunk   *chunk.Sealed
	err     error
}

func newSealAhead(c rosbag.Compression, workers int) (*sealAhead, error) {
	list := make([]*chunk.Compressor, workers)
	for i := range list {
		var err error
		if list[i], err = chunk.NewCompressor(c); err != nil {
			return nil, err
		}
	}
	return inorder.New(list, (*sealJob).seal), nil
}

// seal never panics: the Writer has to be able to finish its file.
func (j *sealJob) seal(z *chunk.Compressor) {
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

// sealsFull reports whether there is no memory for another chunk: one is filled, as many
// as there are workers are sealed, and one waits for its turn.
func (w *Writer) sealsFull() bool { return w.ahead.Spare(w.ahead.Workers()+2) == 0 }

// flushAhead hands the open chunk over, writes what is sealed, and opens a chunk.
func (w *Writer) flushAhead() error {
	w.ahead.Start(w.job)
	err := w.writeSealed(w.sealsFull)
	w.job = w.ahead.Job()
	w.open = &w.job.builder
	w.open.Reset(&w.records)
	return err
}

// writeSealed writes the chunks that are sealed, in order, and waits for more of
// them as long as wait says. After an error the chunks of the queue are given up.
func (w *Writer) writeSealed(wait func() bool) error {
	for {
		if w.ahead.Len() == 0 || !wait() && w.failed() == nil && !w.ahead.Done() {
			return w.failed()
		}
		j := w.ahead.Take()
		if w.failed() == nil {
			if w.sealErr = j.err; j.err == nil {
				_ = w.writeChunk(j.chunk) // failed returns the error
			}
		}
		j.chunk, j.err = nil, nil
		w.ahead.Recycle(j)
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
