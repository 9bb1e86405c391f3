package rosmsg

const (
	maxCachedTypes = 256     // of a Cache
	maxCachedBytes = 4 << 20 // of the names and definitions of a Cache
)

// Cache parses each definition once, though many connections send it. The zero value is empty. Its
// memory is bounded: a Cache that is full starts again. A Cache belongs to one goroutine; the types
// that it returns do not.
type Cache struct {
	types map[cacheKey]cached
	bytes int // of the keys
}

type cacheKey struct{ name, definition string }

type cached struct {
	typ *Type
	err error
}

// Type returns what Parse makes of a name and a definition, the error too.
func (c *Cache) Type(name, definition string) (*Type, error) {
	k := cacheKey{name, definition}
	if p, ok := c.types[k]; ok {
		return p.typ, p.err
	}
	size := len(name) + len(definition)
	if c.types == nil || len(c.types) == maxCachedTypes || c.bytes+size > maxCachedBytes {
		c.types, c.bytes = make(map[cacheKey]cached), 0
	}
	var p cached
	p.typ, p.err = Parse(name, definition)
	c.types[k] = p
	c.bytes += size
	return p.typ, p.err
}
