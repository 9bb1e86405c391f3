package bagfmt

import (
	"container/list"
	"runtime"
	"sync"
	"sync/atomic"
)

// Cache keeps what takes long to unpack, so that who goes to and fro in bags finds it
// again: chunks compressed with bzip2, of which a core unpacks less than 20 MiB/s, and the
// messages that LastOfEach has found. Several Readers may share one.
type Cache struct {
	mu     sync.Mutex
	chunks leastUsed
	frames leastUsed
	coming map[cacheKey]*coming
}

// usedCache is the Cache of a Reader, see Use.
type usedCache struct{ atomic.Pointer[Cache] }

// cacheKey is a chunk, or an index entry of it.
type cacheKey struct {
	r      *Reader
	pos    int64  // of the chunk
	offset uint32 // of the entry
}

// coming is a chunk that is being unpacked.
type coming struct {
	done chan struct{}
	data []byte
	err  error
}

// NewCache returns a Cache for so many bytes of chunks, and of messages.
func NewCache(chunks, frames int64) *Cache {
	return &Cache{chunks: newLeastUsed(chunks), frames: newLeastUsed(frames), coming: map[cacheKey]*coming{}}
}

// Use makes r keep chunks and messages in c, or nowhere if c is nil. Query.Reuse is then of
// no effect.
func (r *Reader) Use(c *Cache) { r.cache.Store(c) }

// chunk returns the data of a chunk. If it is not there, unpack makes it; others who want
// it meanwhile wait for that. A nil Cache keeps nothing.
func (c *Cache) chunk(key cacheKey, unpack func() ([]byte, error)) ([]byte, error) {
	if c == nil {
		return unpack()
	}
	c.mu.Lock()
	if data, ok := c.chunks.get(key); ok {
		c.mu.Unlock()
		return data, nil
	}
	if x := c.coming[key]; x != nil {
		c.mu.Unlock()
		<-x.done
		return x.data, x.err
	}
	x := &coming{done: make(chan struct{})}
	c.coming[key] = x
	c.mu.Unlock()
	x.data, x.err = unpack()
	c.mu.Lock()
	delete(c.coming, key)
	if x.err == nil {
		c.chunks.put(key, x.data)
	}
	c.mu.Unlock()
	close(x.done)
	return x.data, x.err
}

// frame returns a message that keep has got, or nil.
func (c *Cache) frame(key cacheKey) []byte {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	frame, _ := c.frames.get(key)
	return frame
}

// keep keeps a copy of a message, not its chunk.
func (c *Cache) keep(key cacheKey, frame []byte) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frames.fits(frame) {
		c.frames.put(key, append([]byte(nil), frame...))
	}
}

// leastUsed is a map within a number of bytes. It forgets what was not used for longest.
type leastUsed struct {
	most, bytes int64
	list        *list.List // of cached, the one used last in front
	at          map[cacheKey]*list.Element
}

type cached struct {
	key  cacheKey
	data []byte
}

const (
	cachedCost  = 256 // what an entry takes beside its data
	cachedShare = 4   // what takes more than this part of all is not kept
)

func newLeastUsed(most int64) leastUsed {
	return leastUsed{most: most, list: list.New(), at: map[cacheKey]*list.Element{}}
}

func (l *leastUsed) get(key cacheKey) ([]byte, bool) {
	e, ok := l.at[key]
	if !ok {
		return nil, false
	}
	l.list.MoveToFront(e)
	return e.Value.(*cached).data, true //nolint:forcetypeassert // there is nothing else in the list
}

func (l *leastUsed) fits(data []byte) bool { return int64(len(data)) <= l.most/cachedShare }

func (l *leastUsed) put(key cacheKey, data []byte) {
	if _, there := l.at[key]; there || !l.fits(data) {
		return
	}
	l.at[key] = l.list.PushFront(&cached{key, data})
	for l.bytes += int64(len(data)) + cachedCost; l.bytes > l.most; {
		old := l.list.Remove(l.list.Back()).(*cached) //nolint:forcetypeassert // as above
		delete(l.at, old.key)
		l.bytes -= int64(len(old.data)) + cachedCost
	}
}

// unpackAhead puts into the cache, on several cores, the chunks that find will load, if
// they are worth it: the first one that promises a message of each connection.
func (s *lastSearch) unpackAhead(conns []int32) {
	if s.r.cache.Load() == nil {
		return
	}
	var wanted []int
	known := map[int]bool{}
	for _, conn := range conns {
		s.conn, s.best = conn, nil
		if i, ok := s.promised(); ok && !known[i] && len(wanted) < maxLastChunks {
			known[i] = true
			wanted = append(wanted, i)
		}
	}
	if len(wanted) < 2 {
		return
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, i := range wanted {
		slots <- struct{}{}
		// owner: unpackAhead; ends with the chunk.
		wg.Go(func() {
			defer func() { <-slots }()
			var l chunkLoader
			if p, err := l.place(s.r, i); err == nil && p.compression == CompressionBZ2 {
				_, _ = l.read(s.r, &p) // find comes across the error, too
			}
		})
	}
	wg.Wait()
}

// promised returns the first chunk that find will load for a connection, by the indexes.
func (s *lastSearch) promised() (chunk int, ok bool) {
	for _, i := range s.lists[s.conn] {
		if s.t.Before(s.r.chunks[i].Start) {
			continue
		}
		x, err := s.index(int(i))
		if err != nil || x.blind() || x.data != nil {
			return 0, false
		}
		if e := s.last(x); e != nil {
			return int(i), s.r.cache.Load().frame(s.key(x, e)) == nil
		}
	}
	return 0, false
}

// key is where the cache keeps the message of an entry of x, which was not loaded.
func (s *lastSearch) key(x *cursorChunk, e *indexEntry) cacheKey {
	return cacheKey{s.r, s.r.chunks[x.number].Pos, e.offset}
}
