package cursor

import (
	"cmp"
	"iter"

	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Latest is rosbag.Latest of a bag. It looks through the list of chunks once for all connections, loads
// a chunk once for all that have their message there, newest chunk first, and no more of them than
// it needs.
func Latest(bag *table.Table, lists *ChunkLists, t rosbag.Time,
	keep func(*rosbag.Connection) bool,
) iter.Seq2[*rosbag.Connection, rosbag.Found] {
	return func(yield func(*rosbag.Connection, rosbag.Found) bool) {
		s := lastSearch{bag: bag, t: t, keep: make([]bool, len(bag.Conns)), open: map[int]*lastChunk{}}
		var wanted []int32
		for at, c := range bag.Conns {
			if s.keep[at] = keep == nil || keep(c); s.keep[at] {
				wanted = append(wanted, int32(at))
			}
		}
		s.lists = lists.get(bag, wanted)
		s.unpackAhead(wanted)
		for _, at := range wanted {
			if found := s.find(at); (found.Message != nil || found.Err != nil) &&
				!yield(bag.Conns[at], found) {
				return
			}
		}
	}
}

// lastSearch is the state of Latest.
type lastSearch struct {
	bag   *table.Table
	t     rosbag.Time
	keep  []bool
	lists map[int32][]int32 // the chunks of each connection
	load  load.Loader
	open  map[int]*lastChunk // by number
	data  int                // of them that hold data

	conn int32 // looked for at present
	best *rosbag.Message
	from int // the chunk of best
}

// lastChunk is a chunk with the last entry of each connection at the time of the search, so
// that a chunk with many connections is not looked through for each of them.
type lastChunk struct {
	load.Chunk
	last map[int32]int32 // index in entries by connection
}

// list fills in last from the entries.
func (x *lastChunk) list(t rosbag.Time) {
	x.last = make(map[int32]int32)
	for n := load.LastAt(x.Entries, t); n >= 0; n-- {
		if _, later := x.last[x.Entries[n].Conn]; !later {
			x.last[x.Entries[n].Conn] = int32(n)
		}
	}
}

// What is kept in memory for other connections: chunks, and indexes of chunks.
const (
	maxLastChunks  = 16
	maxLastIndexes = 4096
)

// find looks for the message of one connection.
func (s *lastSearch) find(conn int32) (l rosbag.Found) {
	s.conn, s.best = conn, nil
	for _, i := range s.lists[conn] {
		info := &s.bag.Chunks[i]
		if s.t.Before(info.Start) {
			continue
		}
		if s.best != nil && info.End.Before(s.best.Time) {
			break
		}
		if err := s.chunk(int(i)); err != nil && l.Err == nil {
			l.Err = err
		}
	}
	l.Message = s.best
	return l
}

// last returns the last entry of the connection with a time of at most t, nil if there
// is none later than best.
func (s *lastSearch) last(x *lastChunk) *load.Entry {
	n, ok := x.last[s.conn]
	if !ok {
		return nil
	}
	e := &x.Entries[n]
	if s.best != nil && cmp.Or(e.Time().Compare(s.best.Time), cmp.Compare(x.Number, s.from)) <= 0 {
		return nil
	}
	return e
}

// chunk looks for a later message than best in chunk i. It loads the chunk only if
// the index promises one or cannot be read.
func (s *lastSearch) chunk(i int) error {
	x, err := s.index(i)
	if err != nil {
		return err
	}
	promised := s.last(x)
	if !x.EntriesUnknown() && promised == nil {
		return nil
	}
	cache := s.bag.Options.Cache
	var key table.Key // where the cache keeps the message, if the index is good
	if x.Data == nil && !x.EntriesUnknown() {
		key = s.key(x, promised)
		if frame := cache.Frame(key); frame != nil {
			s.best, s.from = &rosbag.Message{
				Conn: s.bag.Conns[s.conn], Time: promised.Time(), Frame: frame,
				Share: len(frame),
			}, i
			return nil
		}
	}
	if x.Data == nil {
		if s.data >= maxLastChunks {
			clear(s.open)
			s.open[i], s.data = x, 0
		}
		unknown := x.EntriesUnknown()
		err = s.load.Load(s.bag, &x.Chunk, s.keep, rosbag.Query{})
		if err != nil || unknown { // the entries come from the data
			x.list(s.t)
		}
		if x.Data == nil {
			delete(s.open, i) // who comes next hears of it, too
			return err
		}
		s.data++
		if err != nil {
			key = table.Key{}
		}
		if bad := wire.AsCorrupt(err); bad != nil && bad.Recovered {
			err = nil
		}
	}
	// If the index was bad the entries come from the chunk itself now.
	if e := s.last(x); e != nil {
		s.best = &rosbag.Message{
			Conn: s.bag.Conns[e.Conn], Time: e.Time(),
			Frame: wire.FrameAt(x.Data, e.Offset), Share: len(x.Data),
		}
		s.from = i
		if key.Bag != nil {
			cache.Keep(key, s.best.Frame)
		}
	}
	return err
}

// index returns chunk i with its entries. If its index is damaged, they are derived when the data is
// loaded.
func (s *lastSearch) index(i int) (*lastChunk, error) {
	if x := s.open[i]; x != nil {
		return x, nil
	}
	if len(s.open) >= maxLastIndexes {
		clear(s.open)
		s.data = 0
	}
	x := &lastChunk{Chunk: load.Chunk{Number: i, Derive: s.bag.Chunks[i].Kind.Derived()}}
	if !x.Derive {
		entries, err := s.load.Entries(s.bag, i, s.keep, nil)
		x.Entries, x.Damaged = entries, wire.AsCorrupt(err)
		if err != nil && x.Damaged == nil {
			return nil, err
		}
		x.list(s.t)
	}
	s.open[i] = x
	return x, nil
}
