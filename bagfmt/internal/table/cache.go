package table

import (
	"bytes"
	"container/list"
	"sync"
)

// Cache keeps data that takes long to unpack, for callers that seek back and forth in
// bags: chunks compressed with bzip2, of which a core unpacks 40 to 100 MiB/s, and the
// messages that Latest has found. Several Readers may share one.
type Cache struct {
	mu        sync.Mutex
	chunks    lru
	frames    lru
	unpacking map[Key]*unpackingChunk
}

// Key is a chunk, or an index entry of it.
type Key struct {
	Bag    *Table
	Pos    int64  // of the chunk
	Offset uint32 // of the entry
}

// unpackingChunk is a chunk that is being unpacked.
type unpackingChunk struct {
	done chan struct{}
	data []byte
	err  error
}

// NewCache returns a Cache for so many bytes of chunks, and of messages.
func NewCache(chunks, frames int64) *Cache {
	return &Cache{chunks: newLRU(chunks), frames: newLRU(frames), unpacking: map[Key]*unpackingChunk{}}
}

// Chunk returns the data of a chunk. If the cache does not have it, it calls unpack;
// concurrent calls for the same chunk wait for the result. A nil Cache keeps nothing.
func (c *Cache) Chunk(key Key, unpack func() ([]byte, error)) ([]byte, error) {
	if c == nil {
		return unpack()
	}
	c.mu.Lock()
	if data, ok := c.chunks.get(key); ok {
		c.mu.Unlock()
		return data, nil
	}
	if x := c.unpacking[key]; x != nil {
		c.mu.Unlock()
		<-x.done
		return x.data, x.err
	}
	x := &unpackingChunk{done: make(chan struct{})}
	c.unpacking[key] = x
	c.mu.Unlock()
	x.data, x.err = unpack()
	c.mu.Lock()
	delete(c.unpacking, key)
	if x.err == nil {
		c.chunks.put(key, x.data)
	}
	c.mu.Unlock()
	close(x.done)
	return x.data, x.err
}

// Frame returns a message that Keep has stored, or nil.
func (c *Cache) Frame(key Key) []byte {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	frame, _ := c.frames.get(key)
	return frame
}

// Keep stores a copy of a message, not its chunk.
func (c *Cache) Keep(key Key, frame []byte) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frames.fits(frame) {
		c.frames.put(key, bytes.Clone(frame))
	}
}

// lru is a map limited to a number of bytes. It evicts the least recently used entries.
type lru struct {
	max, bytes int64
	list       *list.List // of lruEntry, the one used last in front
	at         map[Key]*list.Element
}

type lruEntry struct {
	key  Key
	data []byte
}

const (
	lruEntryOverhead = 256 // bytes of an entry besides its data
	lruMaxFraction   = 4   // entries larger than max divided by this are not kept
)

func newLRU(limit int64) lru {
	return lru{max: limit, list: list.New(), at: map[Key]*list.Element{}}
}

func (l *lru) get(key Key) ([]byte, bool) {
	e, ok := l.at[key]
	if !ok {
		return nil, false
	}
	l.list.MoveToFront(e)
	return e.Value.(*lruEntry).data, true // there is nothing else in the list
}

func (l *lru) fits(data []byte) bool { return int64(len(data)) <= l.max/lruMaxFraction }

func (l *lru) put(key Key, data []byte) {
	if _, there := l.at[key]; there || !l.fits(data) {
		return
	}
	l.at[key] = l.list.PushFront(&lruEntry{key, data})
	for l.bytes += int64(len(data)) + lruEntryOverhead; l.bytes > l.max; {
		old := l.list.Remove(l.list.Back()).(*lruEntry)
		delete(l.at, old.key)
		l.bytes -= int64(len(old.data)) + lruEntryOverhead
	}
}
