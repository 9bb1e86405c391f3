package load

import (
	"sync"

	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/rosbag"
)

// IndexLoaders is a pool of the idle index loaders of a bag.
type IndexLoaders struct{ pool sync.Pool }

// Get returns a loader for bag. The caller returns it with Put.
func (p *IndexLoaders) Get(bag *table.Table) *indexLoader {
	if l, ok := p.pool.Get().(*indexLoader); ok {
		return l
	}
	return &indexLoader{Loader: Loader{once: true}, kept: make([]bool, len(bag.Conns))}
}

// Put takes back a loader that Get has returned.
func (p *IndexLoaders) Put(l *indexLoader) { p.pool.Put(l) }

// indexLoader reads the indexes of chunks, one after the other. What it has for each
// connection of the bag is set for those of one chunk at a time: a bag may have as many chunks
// as connections.
type indexLoader struct {
	Loader
	kept []bool // by index in Table.Conns; all false between two calls
}

// Load returns the entries of chunk i.
func (l *indexLoader) Load(bag *table.Table, i int, keep func(*rosbag.Connection) bool) ([]Entry, error) {
	counts := bag.Chunks[i].Counts
	for _, n := range counts {
		l.kept[bag.ByID[n.Conn.ID]] = keep == nil || keep(n.Conn)
	}
	defer func() {
		for _, n := range counts {
			l.kept[bag.ByID[n.Conn.ID]] = false
		}
	}()
	if bag.Chunks[i].Kind.Derived() {
		return l.derived(bag, i, l.kept)
	}
	return l.Entries(bag, i, l.kept, nil)
}
