package check

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

const (
	// maxBehind bounds the bytes of chunks that the scan has passed and that are not verified:
	// what a store has sent of them is to be still in memory.
	maxBehind = 16 << 20
	// runBytes is about how much is verified at a time: to start a goroutine for a chunk of one message
	// costs more than to verify it.
	runBytes = 256 << 10
	// maxTail bounds what is kept in memory of the index section, which opening and the scan read.
	maxTail = 8 << 20
)

// verification compares chunks with the index on other goroutines, close behind the scan, so that
// a bag in a store is sent once.
type verification struct {
	reader *bagfmt.Reader
	found  []bagfmt.VerifiedChunk // by chunk
	run    run                    // the chunks that the scan has passed and that are not started
	behind *semaphore.Weighted    // of maxBehind
	idle   chan *bagfmt.Verifier
	wg     sync.WaitGroup // of the others
}

// run is a run of chunks.
type run struct {
	from, to int
	bytes    int64
}

// newVerification makes the verifiers. A nil reader means that there is nothing to verify.
func newVerification(r *bagfmt.Reader, workers int) *verification {
	v := &verification{
		reader: r, behind: semaphore.NewWeighted(maxBehind),
		idle: make(chan *bagfmt.Verifier, workers),
	}
	if r == nil {
		return v
	}
	v.found = make([]bagfmt.VerifiedChunk, r.NumSpans())
	for range workers {
		v.idle <- r.Verifier()
	}
	return v
}

// reached starts to verify the chunks before an offset, a run of them at a time. It ends early with ctx.
func (v *verification) reached(ctx context.Context, offset int64) {
	for i := v.run.to; i < len(v.found) && v.reader.ExtentEnd(i) <= offset; i++ {
		v.run.bytes += v.reader.ExtentEnd(i) - v.reader.Span(i).Pos
		v.run.to++
		if v.run.bytes >= runBytes && !v.start(ctx) {
			return
		}
	}
}

// start starts to verify the run. It reports false if ctx is done.
func (v *verification) start(ctx context.Context) bool {
	r, share := v.run, min(v.run.bytes, maxBehind)
	if v.behind.Acquire(ctx, share) != nil {
		return false
	}
	v.run = run{from: r.to, to: r.to}
	verifier := <-v.idle
	// owner: Check; ends with the run.
	v.wg.Go(func() {
		for i := r.from; i < r.to; i++ {
			v.found[i] = verifier.Verify(i)
		}
		v.behind.Release(share)
		v.idle <- verifier
	})
	return true
}

// finish verifies the remaining chunks and waits for all.
func (v *verification) finish(ctx context.Context) {
	if v.reader != nil {
		v.reached(ctx, v.reader.Info().Size)
		v.start(ctx)
	}
	v.wg.Wait()
}

// tailReader reads the end of a file from memory.
type tailReader struct {
	io.ReaderAt
	at   int64
	tail *bytes.Reader // what follows at
}

// keepTail reads what follows offset at of a file of size bytes, if it is not too much.
func keepTail(r io.ReaderAt, at, size int64) (io.ReaderAt, error) {
	if size-at > maxTail {
		return r, nil
	}
	tail := make([]byte, size-at)
	if n, err := r.ReadAt(tail, at); n < len(tail) {
		return nil, fmt.Errorf("read at %d: %w", at+int64(n), err)
	}
	return &tailReader{r, at, bytes.NewReader(tail)}, nil
}

// ReadAt implements io.ReaderAt.
func (t *tailReader) ReadAt(p []byte, off int64) (n int, err error) {
	before := t.at - off
	switch {
	case before <= 0:
		return t.tail.ReadAt(p, -before)
	case int64(len(p)) <= before:
		return t.ReaderAt.ReadAt(p, off)
	}
	if n, err = t.ReaderAt.ReadAt(p[:before], off); int64(n) < before {
		return n, err
	}
	m, err := t.tail.ReadAt(p[before:], 0)
	return n + m, err
}

// header compares the bag header of a bag with the index section.
func (c *checker) header(h *bagfmt.BagHeader, err error, reader *bagfmt.Reader) {
	const at = 13 // the bag header follows the version line
	switch {
	case c.report.isMCAP():
		return
	case err != nil:
		c.damage(err)
		return
	}
	conns, chunks := len(reader.Connections()), reader.NumSpans()
	if int(h.Connections) != conns || int(h.Chunks) != chunks {
		c.add(Damage{Offset: at, Advice: adviceIndex, What: fmt.Sprintf(
			"bag header at %d: counts %s and %s, there are %d and %d", at,
			wording.Plural(h.Connections, "connection"), wording.Plural(h.Chunks, "chunk"), conns, chunks)})
	}
}
