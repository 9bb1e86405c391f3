package bagfmt

import (
	"cmp"
	"iter"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// LastBefore returns the latest message of a connection with a time of at most t,
// the last one in the file if several have that time, nil if there is none. It
// reads no more than it needs, newest chunk first.
//
// An error says that a chunk which may hold a later message could not be read, the
// first one if there are several; the message is then the latest of the others, nil
// if they have none. A damaged index of which nothing was lost is no error.
func (r *Reader) LastBefore(conn rosbag.ConnID, t rosbag.Time) (*rosbag.Message, error) {
	var last *rosbag.Message
	var failed error
	for _, found := range r.LastOfEach([]rosbag.ConnID{conn}, t) {
		last, failed = found.Message, found.Err
	}
	return last, failed
}

// Last is what LastOfEach finds for one connection: what LastBefore returns.
type Last struct {
	Message *rosbag.Message // nil if there is none
	Err     error
}

// LastOfEach is LastBefore for several connections, which it gives out by their number
// in conns. It looks through the list of chunks once for all, and loads a chunk once for
// all that have their message there.
func (r *Reader) LastOfEach(conns []rosbag.ConnID, t rosbag.Time) iter.Seq2[int, Last] {
	return func(yield func(int, Last) bool) {
		s := lastSearch{r: r, t: t, keep: make([]bool, len(r.conns)), open: map[int]*lastChunk{}}
		var known []int32
		for _, id := range conns {
			if at, ok := r.byID[id]; ok {
				s.keep[at] = true
				known = append(known, at)
			}
		}
		s.lists = r.lists.get(r, known)
		s.unpackAhead(known)
		for n, id := range conns {
			var l Last
			if at, ok := r.byID[id]; ok {
				l = s.find(at)
			}
			if !yield(n, l) {
				return
			}
		}
	}
}

// LastLatched gives out, of each latching connection that keep wants, nil for all, the
// latest message with a time of at most t, as LastOfEach finds it: what a subscriber that
// comes at t gets, if a node continues on no other connection and in no other bag.
// Connections without such a message are left out, unless there is an error.
func (r *Reader) LastLatched(t rosbag.Time, keep func(*rosbag.Connection) bool) iter.Seq2[*rosbag.Connection, Last] {
	return func(yield func(*rosbag.Connection, Last) bool) {
		var conns []*rosbag.Connection
		var ids []rosbag.ConnID
		for _, c := range r.conns {
			if c.Header.Latching() && (keep == nil || keep(c)) {
				conns, ids = append(conns, c), append(ids, c.ID)
			}
		}
		for i, last := range r.LastOfEach(ids, t) {
			if (last.Message != nil || last.Err != nil) && !yield(conns[i], last) {
				return
			}
		}
	}
}

// lastSearch is the state of LastOfEach.
type lastSearch struct {
	r     *Reader
	t     rosbag.Time
	keep  []bool
	lists map[int32][]int32 // the chunks of each connection
	load  chunkLoader
	open  map[int]*lastChunk // by number
	data  int                // of them that hold data

	conn int32 // looked for at present
	best *rosbag.Message
	from int // the chunk of best
}

// lastChunk is a chunk with the last entry of each connection at the time of the search, so
// that a chunk with many connections is not looked through for each of them.
type lastChunk struct {
	cursorChunk
	last map[int32]int32 // index in entries by connection
}

// list fills in last from the entries.
func (x *lastChunk) list(t rosbag.Time) {
	x.last = make(map[int32]int32)
	for n := lastAt(x.entries, t); n >= 0; n-- {
		if _, later := x.last[x.entries[n].conn]; !later {
			x.last[x.entries[n].conn] = int32(n)
		}
	}
}

// What is kept in memory for other connections: chunks, and indexes of chunks.
const (
	maxLastChunks  = 16
	maxLastIndexes = 4096
)

// find looks for the message of one connection.
func (s *lastSearch) find(conn int32) (l Last) {
	s.conn, s.best = conn, nil
	for _, i := range s.lists[conn] {
		info := &s.r.chunks[i]
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
func (s *lastSearch) last(x *lastChunk) *indexEntry {
	n, ok := x.last[s.conn]
	if !ok {
		return nil
	}
	e := &x.entries[n]
	if s.best != nil && cmp.Or(e.time().Compare(s.best.Time), cmp.Compare(x.number, s.from)) <= 0 {
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
	if !x.entriesUnknown() && promised == nil {
		return nil
	}
	cache := s.r.cache.Load()
	var key cacheKey // where the cache keeps the message, if the index is good
	if x.data == nil && !x.entriesUnknown() {
		key = s.key(x, promised)
		if frame := cache.frame(key); frame != nil {
			s.best, s.from = &rosbag.Message{Conn: s.r.conns[s.conn], Time: promised.time(), Frame: frame, Share: len(frame)}, i
			return nil
		}
	}
	if x.data == nil {
		if s.data >= maxLastChunks {
			clear(s.open)
			s.open[i], s.data = x, 0
		}
		unknown := x.entriesUnknown()
		err = s.load.load(s.r, &x.cursorChunk, s.keep, rosbag.Query{})
		if err != nil || unknown { // the entries come from the data
			x.list(s.t)
		}
		if x.data == nil {
			delete(s.open, i) // who comes next hears of it, too
			return err
		}
		s.data++
		if err != nil {
			key = cacheKey{}
		}
		if bad := wire.AsCorrupt(err); bad != nil && bad.Recovered {
			err = nil
		}
	}
	// If the index was bad the entries come from the chunk itself now.
	if e := s.last(x); e != nil {
		s.best = &rosbag.Message{Conn: s.r.conns[e.conn], Time: e.time(), Frame: wire.FrameAt(x.data, e.offset), Share: len(x.data)}
		s.from = i
		if key.r != nil {
			cache.keep(key, s.best.Frame)
		}
	}
	return err
}

// index returns chunk i with its entries. Those of a damaged index come with the data.
func (s *lastSearch) index(i int) (*lastChunk, error) {
	if x := s.open[i]; x != nil {
		return x, nil
	}
	if len(s.open) >= maxLastIndexes {
		clear(s.open)
		s.data = 0
	}
	x := &lastChunk{cursorChunk: cursorChunk{number: i, derive: s.r.chunks[i].kind.derived()}}
	if !x.derive {
		entries, err := s.load.entries(s.r, i, s.keep, nil)
		x.entries, x.damaged = entries, wire.AsCorrupt(err)
		if err != nil && x.damaged == nil {
			return nil, err
		}
		x.list(s.t)
	}
	s.open[i] = x
	return x, nil
}
