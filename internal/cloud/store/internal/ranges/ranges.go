// Package ranges gives random access to an object of which only byte ranges can be requested: it reads
// blocks, keeps the most recently used ones and reads ahead.
package ranges

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// Reader reads byte ranges of an object.
type Reader interface {
	// Open returns length bytes from offset on.
	Open(ctx context.Context, offset, length int64) (io.ReadCloser, error)
	Close() error
}

// Limits of a Cache. A request to a store takes tens of milliseconds, so sequential reads need
// large requests; random access must not download the whole bag.
const (
	blockBytes   = 64 << 10
	maxBlocks    = 640 // 40 MiB kept
	minReadAhead = 4   // blocks: 256 KiB beyond what looks like a sequential read
	maxReadAhead = 64  // blocks: 4 MiB with one request
	maxRequests  = 8   // at the same time

	minRetryDelay = 100 * time.Millisecond
	maxRetryDelay = time.Second
	retryTimeout  = 30 * time.Second // without progress; then the read fails
)

// Cache reads an object in blocks and caches the most recently used ones. Sequential reads
// are read ahead, in requests that double in size. Missing blocks that touch are one request.
type Cache struct {
	at         place.Place
	ctx        context.Context //nolint:containedctx // ReadAt has none: that of Open
	cancel     context.CancelFunc
	source     Reader
	size       int64
	retryDelay time.Duration // before the first retry
	fetched    atomic.Int64
	fetches    sync.WaitGroup
	requests   chan struct{} // holds a token for each running request

	mu     sync.Mutex
	blocks map[int64]*block
	recent list.List // of *block, most recently used first
	closed bool
}

// block is a part of the object that is cached or being fetched.
type block struct {
	index     int64
	done      chan struct{} // closed when data or err is final
	data      []byte
	err       error
	readAhead int // blocks to fetch when this one is read; guarded by Cache.mu
	element   *list.Element
}

// New returns a Cache of an object of size bytes, which the Reader from reads and errors call at. Reads
// fail after ctx is done.
func New(ctx context.Context, at place.Place, from Reader, size int64) *Cache {
	c := &Cache{
		at: at, source: from, size: size, retryDelay: minRetryDelay, blocks: map[int64]*block{},
		requests: make(chan struct{}, maxRequests),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// Close cancels running requests.
func (c *Cache) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.fetches.Wait()
	return c.source.Close()
}

// Fetched returns the number of bytes received so far.
func (c *Cache) Fetched() int64 { return c.fetched.Load() }

// RetryAfter sets the wait before the first retry of a request, for tests. Call it before the first read.
func (c *Cache) RetryAfter(d time.Duration) { c.retryDelay = d }

// ReadAt implements io.ReaderAt.
func (c *Cache) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("read at a negative offset")
	}
	for n < len(p) && off < c.size {
		last := (min(off+int64(len(p)-n), c.size) - 1) / blockBytes
		b, err := c.get(off/blockBytes, last)
		if err != nil {
			return n, err
		}
		m := copy(p[n:], b.data[off%blockBytes:])
		n += m
		off += int64(m)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// get waits for a block. The caller will read up to the block last.
func (c *Cache) get(index, last int64) (*block, error) {
	b, err := c.lookup(index, last)
	if err != nil {
		return nil, err
	}
	select {
	case <-b.done:
		return b, b.err
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
}

// lookup returns a block, and starts to fetch it and those that are likely to be read next.
func (c *Cache) lookup(index, last int64) (*block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("read after close")
	}
	b := c.blocks[index]
	if b == nil {
		ahead := 0
		if c.blocks[index-1] != nil {
			ahead = minReadAhead // a sequential read
		}
		b = c.startFetchLocked(index, last-index+1+int64(ahead), 2*ahead)
	}
	c.recent.MoveToFront(b.element)
	if next := b.readAhead; next > 0 {
		b.readAhead = 0
		first := index + 1
		for c.blocks[first] != nil {
			first++
		}
		if first*blockBytes < c.size {
			c.startFetchLocked(first, int64(next), min(2*next, maxReadAhead))
		}
	}
	return b, nil
}

// Prefetch starts to fetch n bytes at off, at most half of what is kept.
func (c *Cache) Prefetch(off, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || off < 0 || n <= 0 || off >= c.size {
		return
	}
	last := min((min(off+n, c.size)-1)/blockBytes, off/blockBytes+maxBlocks/2-1)
	for i := off / blockBytes; i <= last; i++ {
		if b := c.blocks[i]; b != nil {
			c.recent.MoveToFront(b.element)
			continue
		}
		c.startFetchLocked(i, last-i+1, 0)
	}
}

// startFetchLocked fetches up to count blocks, stopping at one that is cached or being fetched. When the
// first of them is read, the next ahead blocks are fetched.
func (c *Cache) startFetchLocked(index, count int64, ahead int) *block {
	blocks := []*block{}
	for i := index; i < index+count && i*blockBytes < c.size && c.blocks[i] == nil &&
		len(blocks) < maxBlocks/2; i++ {
		b := &block{index: i, done: make(chan struct{})}
		b.element = c.recent.PushFront(b)
		c.blocks[i] = b
		blocks = append(blocks, b)
	}
	blocks[0].readAhead = ahead
	c.evictLocked()
	// owner: Close; ends when the blocks have arrived or with ctx.
	c.fetches.Go(func() { c.fetchWithRetry(blocks) })
	return blocks[0]
}

// evictLocked removes the least recently used blocks.
func (c *Cache) evictLocked() {
	for e := c.recent.Back(); e != nil && len(c.blocks) > maxBlocks; {
		b, before := e.Value.(*block), e.Prev()
		select {
		case <-b.done:
			c.removeLocked(b)
		default: // being fetched
		}
		e = before
	}
}

// removeLocked removes a block.
func (c *Cache) removeLocked(b *block) {
	c.recent.Remove(b.element)
	delete(c.blocks, b.index)
}

// fetchWithRetry reads consecutive blocks. It retries until there was no progress for
// retryTimeout: the network of a mobile robot may be down for a while.
func (c *Cache) fetchWithRetry(blocks []*block) {
	c.requests <- struct{}{}
	defer func() { <-c.requests }()
	wait, since := c.retryDelay, time.Now()
	for len(blocks) > 0 {
		n, err := c.fetchOnce(blocks)
		if n > 0 {
			wait, since = c.retryDelay, time.Now()
		}
		blocks = blocks[n:]
		if err == nil {
			continue
		}
		if permanent(err) || c.ctx.Err() != nil || time.Since(since) > retryTimeout {
			c.fail(blocks, c.at.Explain(err))
			return
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)): //nolint:gosec // it spreads load
		case <-c.ctx.Done():
		}
		wait = min(2*wait, maxRetryDelay)
	}
}

// fetchOnce makes one request and returns the number of complete blocks.
func (c *Cache) fetchOnce(blocks []*block) (n int, err error) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	stall := time.AfterFunc(place.StallTimeout, func() { cancel(place.ErrStalled) })
	defer stall.Stop()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), place.ErrStalled) {
			err = place.ErrStalled
		}
	}()
	from := blocks[0].index * blockBytes
	end := min((blocks[len(blocks)-1].index+1)*blockBytes, c.size)
	body, err := c.source.Open(ctx, from, end-from)
	if err != nil {
		return 0, err
	}
	defer body.Close() //nolint:errcheck // only read from
	r := &stallReader{body, stall}
	for _, b := range blocks {
		data := make([]byte, min(blockBytes, c.size-b.index*blockBytes))
		m, err := io.ReadFull(r, data)
		c.fetched.Add(int64(m))
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = place.ErrBrokenOff
		}
		if err != nil {
			return n, fmt.Errorf("at %d: %w", b.index*blockBytes+int64(m), err)
		}
		b.data = data
		close(b.done)
		n++
	}
	return n, nil
}

// stallReader postpones the stall timeout of a request with each byte received.
type stallReader struct {
	io.Reader
	stall *time.Timer
}

// Read implements io.Reader.
func (c *stallReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if n > 0 {
		c.stall.Reset(place.StallTimeout)
	}
	return n, err
}

// fail fails blocks that could not be fetched. The next read requests them again.
func (c *Cache) fail(blocks []*block, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range blocks {
		b.err = err
		c.removeLocked(b)
		close(b.done)
	}
}

// permanent reports whether a retry is useless.
func permanent(err error) bool {
	return errors.Is(err, place.ErrNotFound) || errors.Is(err, place.ErrDenied) ||
		errors.Is(err, place.ErrChanged) || errors.Is(err, place.ErrBadResponse)
}
