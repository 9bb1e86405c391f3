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
	// maxTail bounds what is kept in memory of the index section, which opening and the scan read.
	maxTail = 8 << 20
)

// verification compares chunks with the index on other goroutines, close behind the scan, so that
// a bag in a store is sent once.
type verification struct {
	reader *bagfmt.Reader
	found  []bagfmt.VerifiedChunk // by chunk
	next   int                    // the first chunk that is not started
	behind *semaphore.Weighted    // of maxBehind
	idle   chan *bagfmt.Verifier
	wg     sync.WaitGroup // of the others
}

// newVerification makes the verifiers. A nil reader means that there is nothing to verify.
func newVerification(r *bagfmt.Reader, workers int) *verification {
	v := &verification{reader: r, behind: semaphore.NewWeighted(maxBehind), idle: make(chan *bagfmt.Verifier, workers)}
	if r == nil {
		return v
	}
	v.found = make([]bagfmt.VerifiedChunk, r.NumSpans())
	for range workers {
		v.idle <- r.Verifier()
	}
	return v
}

// cost returns the share of chunk i in maxBehind.
func (v *verification) cost(i int) int64 {
	return min(v.reader.ExtentEnd(i)-v.reader.Span(i).Pos, maxBehind)
}

// reached starts to verify the chunks before an offset. It ends early with ctx.
func (v *verification) reached(ctx context.Context, offset int64) {
	for v.next < len(v.found) && v.reader.ExtentEnd(v.next) <= offset {
		i := v.next
		if v.behind.Acquire(ctx, v.cost(i)) != nil {
			return
		}
		verifier := <-v.idle
		// owner: Check; ends with the chunk.
		v.wg.Go(func() {
			v.found[i] = verifier.Verify(i)
			v.behind.Release(v.cost(i))
			v.idle <- verifier
		})
		v.next++
	}
}

// finish verifies the remaining chunks and waits for all.
func (v *verification) finish(ctx context.Context) {
	if v.reader != nil {
		v.reached(ctx, v.reader.Info().Size)
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
			"bag header at %d: counts %s and %s, there are %d and %d", at, wording.Plural(h.Connections, "connection"), wording.Plural(h.Chunks, "chunk"), conns, chunks)})
	}
}
