package view

import (
	"container/list"
	"sync"
)

// plotCacheBytes is how much of finished plots is kept.
const plotCacheBytes = 16 << 20

// cache keeps answers by their requests: those that were asked for last, up to a number of bytes. Recordings do not change.
type cache struct {
	mu    sync.Mutex
	most  int
	bytes int
	order *list.List // of *kept, the last used first
	byKey map[string]*list.Element
}

type kept struct {
	key   string
	value []byte
}

func newCache(most int) *cache {
	return &cache{most: most, order: list.New(), byKey: make(map[string]*list.Element)}
}

// get returns what was put for a key.
func (c *cache) get(key string) (kept, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return kept{}, false
	}
	c.order.MoveToFront(e)
	return *e.Value.(*kept), true
}

// put keeps a value, which must not change any more, unless it is too large.
func (c *cache) put(k kept) {
	if len(k.value) > c.most/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[k.key]; ok {
		c.bytes += len(k.value) - len(e.Value.(*kept).value)
		e.Value = &k
		c.order.MoveToFront(e)
	} else {
		c.byKey[k.key] = c.order.PushFront(&k)
		c.bytes += len(k.value)
	}
	for c.bytes > c.most {
		last := c.order.Back()
		old := c.order.Remove(last).(*kept)
		delete(c.byKey, old.key)
		c.bytes -= len(old.value)
	}
}
