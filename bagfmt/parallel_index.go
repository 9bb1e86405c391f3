package bagfmt

import (
	"sync"

	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/rosbag"
)

// indexLoaders are the idle indexLoaders of a bag.
type indexLoaders struct{ sync.Pool }

// get returns a loader for r, to be put back.
func (p *indexLoaders) get(bag *table.Table) *indexLoader {
	if l, ok := p.Get().(*indexLoader); ok {
		return l
	}
	return &indexLoader{chunkLoader: chunkLoader{once: true}, kept: make([]bool, len(bag.Conns))}
}

// indexLoader reads the indexes of chunks, one after the other. What it has for each
// connection of the bag is set for those of one chunk at a time: a bag may have as many chunks
// as connections.
type indexLoader struct {
	chunkLoader
	kept []bool // by index in Table.conns; all false between two calls
}

// load returns the entries of chunk i.
func (l *indexLoader) load(bag *table.Table, i int, keep func(*rosbag.Connection) bool) ([]indexEntry, error) {
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
	return l.entries(bag, i, l.kept, nil)
}
