package bagfmt

import (
	"errors"
	"io"
	"iter"

	"github.com/gorosbag/gorosbag/bagfmt/internal/cursor"
	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/opening"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Reader reads a bag of any version, through its index if it has a good one. Its
// methods may be called from several goroutines if the underlying io.ReaderAt may.
type Reader struct {
	t       *table.Table
	lists   cursor.ChunkLists
	indexes load.IndexLoaders
}

// NewReader opens a bag of size bytes, of any version. Of a bag with a good index
// section it reads that and the bag header only. Any other one, not closed, torn,
// damaged or of a version before 2.0, it reads from front to back, but passes over the
// messages: Damage tells why, and what could not be read.
//
// A file that is no bag matches ErrNotBag, a bag of an unknown version ErrVersion, an
// encrypted one whose key is not there ErrEncrypted. With table.Options.IndexOnly a bag
// without an index matches ErrUnindexed, a damaged one ErrCorrupt.
func NewReader(r io.ReaderAt, size int64, o table.Options) (*Reader, error) {
	t, err := opening.Open(r, size, o)
	if err != nil {
		return nil, err
	}
	return &Reader{t: t}, nil
}

// ChunkHeader says how a chunk is stored.
type ChunkHeader struct {
	Compression       rosbag.Compression // as the bag says, possibly unknown
	StoredBytes       int64
	UncompressedBytes int64
}

// Version returns the version of the bag: "0", "1.0", "1.1", "1.2" or "2.0", and with
// FutureVersion any "2.x".
func (r *Reader) Version() string { return r.t.Version }

// Encryption returns what an encrypted bag says about itself, nil if the bag is not encrypted.
// The caller must not modify it.
func (r *Reader) Encryption() *rosbag.Encryption { return r.t.Decrypter.Encryption() }

// Elapsed reports whether the times of messages count from the start of the recording,
// as in bags of the versions 0, 1.0 and, of the first recorder, 1.1.
func (r *Reader) Elapsed() bool { return r.t.Elapsed }

// Indexed reports whether the bag has a good index. A 2.0 bag was opened through it; a
// 1.2 bag was read from front to back all the same, because its index does not tell
// which messages were latched, and agrees with its index.
func (r *Reader) Indexed() bool { return r.t.Indexed }

// Damage returns what NewReader met: why the index was not used, if there should be
// one, and what could not be read, in that order. Nothing is lost by ErrUnindexed and
// by a CorruptError with Recovered set. At most 1000 errors are kept. What a
// segment hides comes from Cursor.Next. The caller must not modify the slice.
//
// A bag that starts behind the end of this one is damage, too: a Reader does not read
// it, Recover does.
func (r *Reader) Damage() []error { return r.t.Damage }

// Connections returns all connections by ascending id. The caller must not modify
// the slice.
func (r *Reader) Connections() []*rosbag.Connection { return r.t.Conns }

// Chunks returns the segments in file order. The caller must not modify the slice.
func (r *Reader) Chunks() []table.Chunk { return r.t.Chunks }

// Start returns the time of the earliest message, the zero Time if there is none.
func (r *Reader) Start() rosbag.Time { return r.t.Start }

// End returns the time of the latest message, the zero Time if there is none.
func (r *Reader) End() rosbag.Time { return r.t.End }

// Messages returns the number of messages as the chunk infos say, or a scan has found.
func (r *Reader) Messages() uint64 { return r.t.Messages }

// IndexPos returns where the index section starts, 0 if the bag was not opened through it.
func (r *Reader) IndexPos() int64 { return r.t.IndexPos }

// Size returns the size of the file.
func (r *Reader) Size() int64 { return r.t.Size }

// ChunkHeader reads the header of chunk i.
func (r *Reader) ChunkHeader(i int) (ChunkHeader, error) {
	var l load.Loader
	p, err := l.Place(r.t, i)
	if err != nil {
		return ChunkHeader{}, err
	}
	return ChunkHeader{p.Compression, p.Stored, p.Size}, nil
}

// ChunkHeaders yields what ChunkHeader says about each chunk, in file order, in less
// time. After an error, which comes instead of a header, the loop may go on.
func (r *Reader) ChunkHeaders() iter.Seq2[ChunkHeader, error] {
	return func(yield func(ChunkHeader, error) bool) {
		var l load.Loader
		from := load.HeaderTable(r.t)
		for i := range r.t.Chunks {
			p, err := l.Place(from, i)
			h := ChunkHeader{p.Compression, p.Stored, p.Size}
			if err != nil {
				h = ChunkHeader{}
			}
			if !yield(h, err) {
				return
			}
		}
	}
}

// ChunkIndex reads the index of chunk i and returns the entries of the connections
// that keep wants, nil for all, sorted by time and place. It does not look at the
// chunk itself unless there is no index for it.
func (r *Reader) ChunkIndex(i int, keep func(*rosbag.Connection) bool) ([]IndexEntry, error) {
	l := r.indexes.Get(r.t)
	defer r.indexes.Put(l)
	entries, err := l.Load(r.t, i, keep)
	if err != nil {
		return nil, err
	}
	out := make([]IndexEntry, len(entries))
	for n, e := range entries {
		out[n] = IndexEntry{r.t.Conns[e.Conn], e.Time(), e.Offset}
	}
	return out, nil
}

// Use makes r keep chunks and messages in c, or nowhere if c is nil. Query.Reuse is then of
// no effect.
func (r *Reader) Use(c *table.Cache) { r.t.Cache.Store(c) }

// Prefetches reports whether r reads from a Prefetcher.
func (r *Reader) Prefetches() bool { return r.t.Prefetches() }

// PrefetchIndex tells the Prefetcher from which r reads, if it is one, that ChunkIndex and
// ChunkHeader are going to be called for chunk i.
func (r *Reader) PrefetchIndex(i int) { r.t.PrefetchIndex(i) }

// Cursor returns a Cursor at the start of what q selects. It reads nothing yet.
func (r *Reader) Cursor(q rosbag.Query) *cursor.Cursor { return cursor.New(r.t, q) }

// All calls Next of a new Cursor for each step of the loop. A step with an error
// has no message; the loop may go on, as with Next.
func (r *Reader) All(q rosbag.Query) iter.Seq2[*rosbag.Message, error] {
	return func(yield func(*rosbag.Message, error) bool) {
		c := r.Cursor(q)
		defer c.Close()
		for {
			m, err := c.Next()
			if errors.Is(err, io.EOF) || !yield(m, err) {
				return
			}
		}
	}
}

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

// LastOfEach is LastBefore for several connections, which it gives out by their number
// in conns. It looks through the list of chunks once for all, and loads a chunk once for
// all that have their message there.
func (r *Reader) LastOfEach(conns []rosbag.ConnID, t rosbag.Time) iter.Seq2[int, cursor.Last] {
	return cursor.LastOfEach(r.t, &r.lists, conns, t)
}

// LastLatched gives out, of each latching connection that keep wants, nil for all, the
// latest message with a time of at most t, as LastOfEach finds it: what a subscriber that
// comes at t gets, if a node continues on no other connection and in no other bag.
// Connections without such a message are left out, unless there is an error.
func (r *Reader) LastLatched(t rosbag.Time, keep func(*rosbag.Connection) bool) iter.Seq2[*rosbag.Connection, cursor.Last] {
	return func(yield func(*rosbag.Connection, cursor.Last) bool) {
		var conns []*rosbag.Connection
		var ids []rosbag.ConnID
		for _, c := range r.t.Conns {
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

// IndexEntry says where one message is.
type IndexEntry struct {
	Conn   *rosbag.Connection
	Time   rosbag.Time
	Offset uint32 // of its record in the unpacked chunk
}
