package bagfmt

import (
	"io"
	"iter"

	"github.com/gorosbag/gorosbag/bagfmt/internal/cursor"
	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/opening"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Reader reads a bag of any version, or an MCAP file, through its index if it has a good one. Its
// methods may be called from several goroutines if those of the underlying io.ReaderAt may.
type Reader struct {
	t       *table.Table
	lists   cursor.ChunkLists
	indexes load.IndexLoaders
}

var _ interface {
	rosbag.Indexed
	rosbag.Latest
} = (*Reader)(nil)

// NewReader opens a bag of size bytes, of any version, or an MCAP file. If the bag has a good index
// section, or the file a good summary, it reads only that and the header. A bag that was not closed, is
// torn or damaged, or has a version before 2.0, it reads from front to back, but passes over the
// messages: Info().Damage says why, and what could not be read.
//
// The error for a file that is no bag matches ErrNotBag, for a bag of an unknown version ErrVersion, and
// for an encrypted bag without its key ErrEncrypted. With ReaderOptions.IndexOnly, that for a bag without
// an index matches ErrUnindexed, for a damaged one ErrCorrupt.
func NewReader(r io.ReaderAt, size int64, o ReaderOptions) (*Reader, error) {
	t, err := opening.Open(r, size, o.table())
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

// Encryption returns what an encrypted bag says about itself, nil if the bag is not encrypted.
// The caller must not modify it.
func (r *Reader) Encryption() *rosbag.Encryption { return r.t.Decrypter.Encryption() }

// Info implements rosbag.Source. The version of a bag is "0", "1.0", "1.1", "1.2" or "2.0", and with
// FutureVersion any "2.x". Times of the versions 0, 1.0 and, of the first recorder, 1.1 are elapsed. A 1.2
// bag is read from front to back even if its index is good, because the index does not say which
// messages were latched. Of an MCAP file the format is "mcap".
//
// At most 1000 errors of damage are kept. What is damaged within a span comes from Cursor.Next. A bag
// that starts after the end of this one is damage, too: a Reader does not read it, recovery does.
func (r *Reader) Info() rosbag.Info {
	t := r.t
	format, version := "bag", t.Version
	if t.MCAP != nil {
		format, version = "mcap", "0"
	}
	return rosbag.Info{
		Format: format, Version: version, Size: t.Size, Start: t.Start, End: t.End, Messages: t.Messages,
		Elapsed: t.Elapsed,
		Indexed: t.Indexed, Remote: t.Prefetches(), Repeated: t.Repeated, Damage: t.Damage,
	}
}

// MCAP returns what an MCAP file has beside messages, nil of a bag. The caller must not modify it.
func (r *Reader) MCAP() *rosbag.MCAPInfo {
	if r.t.MCAP == nil {
		return nil
	}
	return &r.t.MCAP.MCAPInfo
}

// Connections returns all connections by ascending id. Those of an MCAP file have the ids of its
// channels. The caller must not modify the slice.
func (r *Reader) Connections() []*rosbag.Connection { return r.t.Conns }

// NumSpans returns the number of spans, see Span.
func (r *Reader) NumSpans() int { return len(r.t.Chunks) }

// Span returns span i, in file order: a chunk, or up to 1 MiB of messages that are in none.
func (r *Reader) Span(i int) *rosbag.Span { return &r.t.Chunks[i].Span }

// IndexPos returns where the index section starts, 0 if the bag was not opened through it.
func (r *Reader) IndexPos() int64 { return r.t.IndexPos }

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
		for i := range r.t.Chunks {
			p, err := l.Place(r.t, i)
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

// Index implements rosbag.Indexed. It does not look at the chunk itself unless there is no index
// for it.
func (r *Reader) Index(i int, keep func(*rosbag.Connection) bool) ([]rosbag.Entry, error) {
	l := r.indexes.Get(r.t)
	defer r.indexes.Put(l)
	entries, err := l.Load(r.t, i, keep)
	if err != nil {
		return nil, err
	}
	out := make([]rosbag.Entry, len(entries))
	for n, e := range entries {
		out[n] = rosbag.Entry{Conn: r.t.Conns[e.Conn], Time: e.Time(), Offset: e.Offset}
	}
	return out, nil
}

// PrefetchIndex announces to the Prefetcher that r reads from, if it is one, that Index and ChunkHeader
// are going to be called for chunk i.
func (r *Reader) PrefetchIndex(i int) { r.t.PrefetchIndex(i) }

// Cursor returns a Cursor at the start of what q selects. It reads nothing yet. It believes the
// chunk infos about which times and connections a chunk holds.
func (r *Reader) Cursor(q rosbag.Query) rosbag.Cursor { return cursor.New(r.t, q) }

// Latest implements rosbag.Latest. It reads no more than it needs, newest chunk first, and a chunk
// once for all connections that have their message there.
func (r *Reader) Latest(t rosbag.Time, keep func(*rosbag.Connection) bool) iter.Seq2[*rosbag.Connection,
	rosbag.Found] {
	return cursor.Latest(r.t, &r.lists, t, keep)
}
