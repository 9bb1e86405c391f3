package store

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
)

// Bounds of a cache. A request to a store takes tens of milliseconds: it is to bring
// something, but a bag that is only looked into is not to be fetched whole.
const (
	blockBytes = 256 << 10
	mostBlocks = 160 // 40 MiB kept
	mostAhead  = 16  // blocks: 4 MiB with one request

	firstRetry   = 100 * time.Millisecond
	longestRetry = time.Second
	retryTime    = 30 * time.Second // after which a store that does not answer is given up
	stallTime    = 15 * time.Second // for which nothing of an answer may come
)

// cache reads an object in blocks and keeps the latest. Where reading goes on from
// block to block it fetches ahead, further each time.
type cache struct {
	ctx     context.Context //nolint:containedctx // ReadAt has none: that of Open
	cancel  context.CancelFunc
	from    ranger
	size    int64
	retry   time.Duration // the first wait before another try
	fetched atomic.Int64
	fetches sync.WaitGroup

	mu     sync.Mutex
	blocks map[int64]*block
	recent list.List // of *block, the latest used first
	closed bool
}

// block is a part of the object that is here or under way.
type block struct {
	index int64
	done  chan struct{} // closed when data or err is final
	data  []byte
	err   error
	ahead int // reading this block makes so many further ones be fetched; guarded by cache.mu
	place *list.Element
}

func newCache(ctx context.Context, from ranger, size int64) *cache {
	c := &cache{from: from, size: size, retry: firstRetry, blocks: map[int64]*block{}}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// close ends what is under way.
func (c *cache) close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.fetches.Wait()
	return c.from.close()
}

// ReadAt implements io.ReaderAt.
func (c *cache) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("store: read at a negative offset")
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

// get returns a block when it is here. The caller will read on up to the block last.
func (c *cache) get(index, last int64) (*block, error) {
	b, err := c.find(index, last)
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

// find makes a block be fetched if it is not here, and what is likely to be read next.
func (c *cache) find(index, last int64) (*block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("store: read after close")
	}
	b := c.blocks[index]
	if b == nil {
		ahead := 0
		if before := c.blocks[index-1]; before != nil {
			ahead = 1 // somebody reads on
		}
		b = c.begin(index, last-index+1+int64(ahead), 2*ahead)
	}
	c.recent.MoveToFront(b.place)
	if next := b.ahead; next > 0 {
		b.ahead = 0
		first := index + 1
		for c.blocks[first] != nil {
			first++
		}
		if first*blockBytes < c.size {
			c.begin(first, int64(next), min(2*next, mostAhead))
		}
	}
	return b, nil
}

// begin fetches count blocks, but none that is here or under way. When the first of
// them is read, the next so many follow. mu is held.
func (c *cache) begin(index, count int64, ahead int) *block {
	blocks := []*block{}
	for i := index; i < index+count && i*blockBytes < c.size && c.blocks[i] == nil && len(blocks) < mostBlocks/2; i++ {
		b := &block{index: i, done: make(chan struct{})}
		b.place = c.recent.PushFront(b)
		c.blocks[i] = b
		blocks = append(blocks, b)
	}
	blocks[0].ahead = ahead
	c.evict()
	// owner: close; ends when the blocks are here or with ctx.
	c.fetches.Go(func() { c.fetch(blocks) })
	return blocks[0]
}

// evict lets go of what was not read for longest. mu is held.
func (c *cache) evict() {
	for e := c.recent.Back(); e != nil && len(c.blocks) > mostBlocks; {
		b, before := e.Value.(*block), e.Prev()
		select {
		case <-b.done:
			c.forget(b)
		default: // under way
		}
		e = before
	}
}

// forget takes a block out. mu is held.
func (c *cache) forget(b *block) {
	c.recent.Remove(b.place)
	delete(c.blocks, b.index)
}

// fetch reads blocks that follow each other. Where a connection breaks it tries again,
// for as long as a network in the field may be away.
func (c *cache) fetch(blocks []*block) {
	wait, since := c.retry, time.Now()
	for len(blocks) > 0 {
		n, err := c.fetchOnce(blocks)
		if n > 0 {
			wait, since = c.retry, time.Now()
		}
		blocks = blocks[n:]
		if err == nil {
			continue
		}
		if lasting(err) || c.ctx.Err() != nil || time.Since(since) > retryTime {
			c.fail(blocks, err)
			return
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)): //nolint:gosec // it spreads load
		case <-c.ctx.Done():
		}
		wait = min(2*wait, longestRetry)
	}
}

var errStalled = fmt.Errorf("store: nothing came for %v", stallTime)

// fetchOnce makes one request and returns how many blocks are here.
func (c *cache) fetchOnce(blocks []*block) (n int, err error) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	stall := time.AfterFunc(stallTime, func() { cancel(errStalled) })
	defer stall.Stop()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), errStalled) {
			err = errStalled
		}
	}()
	from := blocks[0].index * blockBytes
	end := min((blocks[len(blocks)-1].index+1)*blockBytes, c.size)
	body, err := c.from.open(ctx, from, end-from)
	if err != nil {
		return 0, err
	}
	defer body.Close() //nolint:errcheck // only read from
	r := &coming{body, stall}
	for _, b := range blocks {
		data := make([]byte, min(blockBytes, c.size-b.index*blockBytes))
		m, err := io.ReadFull(r, data)
		c.fetched.Add(int64(m))
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errCut
		}
		if err != nil {
			return n, fmt.Errorf("store: at %d: %w", b.index*blockBytes+int64(m), err)
		}
		b.data = data
		close(b.done)
		n++
	}
	return n, nil
}

// coming puts off the end of a request as long as its answer comes.
type coming struct {
	io.Reader
	stall *time.Timer
}

// Read implements io.Reader.
func (c *coming) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if n > 0 {
		c.stall.Reset(stallTime)
	}
	return n, err
}

// errCut is no io.ErrUnexpectedEOF: that would say that the object itself ends there.
var errCut = errors.New("the connection broke off")

// fail ends blocks that do not come. The next read asks for them again.
func (c *cache) fail(blocks []*block, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range blocks {
		b.err = err
		c.forget(b)
		close(b.done)
	}
}

// lasting reports whether to try again is of no use.
func lasting(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrDenied) || errors.Is(err, ErrChanged)
}
