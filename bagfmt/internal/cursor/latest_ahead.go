package cursor

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/internal/queue/inorder"
	"github.com/gorosbag/gorosbag/rosbag"
)

// ChunkLists remembers which chunks hold messages of the connections that were asked for.
type ChunkLists struct {
	mu sync.Mutex
	// all chunks: the one with the latest end first, of equal ones the last in the file
	order []int32
	// by index in Table.Conns, in the same order
	of map[int32][]int32
	// through all chunks
	Passes int
}

// get returns the lists of connections, given by their index.
func (l *ChunkLists) get(bag *table.Table, conns []int32) map[int32][]int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	lists, missing := map[int32][]int32{}, map[*rosbag.Connection]int32{}
	for _, c := range conns {
		list, ok := l.of[c]
		if lists[c] = list; !ok {
			missing[bag.Conns[c]] = c
		}
	}
	if len(missing) == 0 {
		return lists
	}
	l.sort(bag)
	l.Passes++
	for _, i := range l.order {
		for _, n := range bag.Chunks[i].Counts {
			c, ok := missing[n.Conn]
			if list := lists[c]; ok && n.Count > 0 && (len(list) == 0 || list[len(list)-1] != i) {
				lists[c] = append(list, i)
			}
		}
	}
	if l.of == nil {
		l.of = make(map[int32][]int32)
	}
	for _, c := range missing {
		l.of[c] = lists[c]
	}
	return lists
}

func (l *ChunkLists) sort(bag *table.Table) {
	if l.order != nil {
		return
	}
	l.order = make([]int32, len(bag.Chunks))
	for i := range l.order {
		l.order[i] = int32(i)
	}
	slices.SortFunc(l.order, func(a, b int32) int {
		return cmp.Or(bag.Chunks[b].End.Compare(bag.Chunks[a].End), cmp.Compare(b, a))
	})
}

// unpackAhead puts into the cache, on several cores, the chunks that find will load, if
// they are worth it: the first one that promises a message of each connection.
func (s *lastSearch) unpackAhead(conns []int32) {
	if s.bag.Options.Cache == nil {
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
	queue := inorder.New(make([]struct{}, runtime.GOMAXPROCS(0)), func(i *int, _ struct{}) {
		var l load.Loader
		if p, err := l.Place(s.bag, *i); err == nil && p.Compression == rosbag.CompressionBZ2 {
			_, _ = l.Read(s.bag, &p) // find comes across the error, too
		}
	})
	for i := range wanted {
		queue.Start(&wanted[i])
	}
	queue.Close()
}

// promised returns the first chunk that find will load for a connection, by the indexes.
func (s *lastSearch) promised() (chunk int, ok bool) {
	for _, i := range s.lists[s.conn] {
		if s.t.Before(s.bag.Chunks[i].Start) {
			continue
		}
		x, err := s.index(int(i))
		if err != nil || x.EntriesUnknown() || x.Data != nil {
			return 0, false
		}
		if e := s.last(x); e != nil {
			return int(i), s.bag.Options.Cache.Frame(s.key(x, e)) == nil
		}
	}
	return 0, false
}

// key is where the cache keeps the message of an entry of x, which was not loaded.
func (s *lastSearch) key(x *lastChunk, e *load.Entry) table.Key {
	return table.Key{Bag: s.bag, Pos: s.bag.Chunks[x.Number].Pos, Offset: e.Offset}
}
