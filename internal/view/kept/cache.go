// Package kept keeps answers to pages: those that were asked for last, up to a number of bytes.
package kept

import (
	"container/list"
	"sync"
)

// Cache keeps answers by their requests. Recordings do not change, so that they stay right. It is safe
// for concurrent use.
type Cache struct {
	mu    sync.Mutex
	most  int
	bytes int
	order *list.List // of *Answer, the last used first
	byKey map[string]*list.Element
}

// Answer is an answer.
type Answer struct {
	Key       string
	Body      []byte
	MediaType string
	About     string // what else belongs to it
	Note      any    // what its maker wants to know again: a few bytes
}

// overhead is about what an entry takes beside its texts.
const overhead = 256

// size returns about how many bytes an answer takes.
func (a *Answer) size() int { return len(a.Key) + len(a.Body) + len(a.About) + overhead }

// New returns a Cache of at most so many bytes.
func New(most int) *Cache {
	return &Cache{most: most, order: list.New(), byKey: make(map[string]*list.Element)}
}

// Get returns what was put for a key.
func (c *Cache) Get(key string) (Answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return Answer{}, false
	}
	c.order.MoveToFront(e)
	return *e.Value.(*Answer), true
}

// Put keeps an answer, which must not change any more, unless it is too large.
func (c *Cache) Put(k Answer) {
	if k.size() > c.most/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[k.Key]; ok {
		c.bytes += k.size() - e.Value.(*Answer).size()
		e.Value = &k
		c.order.MoveToFront(e)
	} else {
		c.byKey[k.Key] = c.order.PushFront(&k)
		c.bytes += k.size()
	}
	for c.bytes > c.most {
		last := c.order.Back()
		old := c.order.Remove(last).(*Answer)
		delete(c.byKey, old.Key)
		c.bytes -= old.size()
	}
}
