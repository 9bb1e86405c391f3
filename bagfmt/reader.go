package bagfmt

import (
	"errors"
	"io"
	"iter"

	"github.com/gorosbag/gorosbag/bagfmt/internal/old"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	defaultCacheBytes = 128 << 20
)

// ReaderOptions limits what a Reader does. The zero value is ready to use.
type ReaderOptions struct {
	MaxChunkBytes int64 // largest compressed chunk, stored or unpacked; zero means 512 MiB, 2 GiB - 1 is the most
	CacheBytes    int64 // unpacked chunks that one Cursor keeps beside the current one; zero means 128 MiB
	FutureVersion bool  // read any version 2.x as if it were 2.0
	IndexOnly     bool  // refuse a bag without a good index instead of reading it from front to back
	// Interrupted, if not nil, is asked while a chunk is unpacked or searched, every few MiB. An
	// error that it returns ends that, and is returned. Goroutines may call it at the same time.
	Interrupted func() error
	// UnwrapKey, if not nil, is asked for the AES key of an encrypted bag when that is opened.
	// The key that it returns is overwritten. Without it encrypted bags are refused.
	UnwrapKey func(rosbag.Encryption) (key []byte, err error)
}

func (o ReaderOptions) withDefaults() (ReaderOptions, error) {
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	var err error
	o.MaxChunkBytes, err = wire.ChunkLimit(o.MaxChunkBytes)
	return o, err
}

// Reader reads a bag of any version, through its index if it has a good one. Its
// methods may be called from several goroutines if the underlying io.ReaderAt may.
type Reader struct {
	r         io.ReaderAt
	size      int64
	o         ReaderOptions
	version   string
	indexPos  int64
	indexEnd  int64 // of the index section, if the bag was opened through it
	dataEnd   int64 // where the records of chunks and their index data end
	elapsed   bool
	indexed   bool
	damage    []error
	scanned   bool                 // the scan met the end of the messages: the index section, or where it should be
	old       *old.Format          // of a bag of a version before 2.0
	decrypter *wire.Decrypter      // of an encrypted bag
	conns     []*rosbag.Connection // by id
	byID      map[rosbag.ConnID]int32
	chunks    []ChunkInfo
	start     rosbag.Time
	end       rosbag.Time
	messages  uint64
	repeated  rosbag.Repeated

	lists   *chunkLists
	cache   *cacheRef
	indexes *indexLoaders
}

// NewReader opens a bag of size bytes, of any version. Of a bag with a good index
// section it reads that and the bag header only. Any other one, not closed, torn,
// damaged or of a version before 2.0, it reads from front to back, but passes over the
// messages: Damage tells why, and what could not be read.
//
// A file that is no bag matches ErrNotBag, a bag of an unknown version ErrVersion, an
// encrypted one whose key is not there ErrEncrypted. With ReaderOptions.IndexOnly a bag
// without an index matches ErrUnindexed, a damaged one ErrCorrupt.
func NewReader(r io.ReaderAt, size int64, o ReaderOptions) (*Reader, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	br := &Reader{lists: &chunkLists{of: map[int32][]int32{}}, cache: new(cacheRef), indexes: new(indexLoaders), r: r, size: size, o: o}
	s := wire.NewFileStream(r, size, wire.SmallBufferBytes)
	v, err := s.Version(o.FutureVersion)
	if err != nil {
		return nil, err
	}
	br.version = v.Name
	br.elapsed = v.Elapsed
	if v.Layout != wire.LayoutV2 {
		err = openOld(br, s, v)
	} else if err = (&indexSection{r: br}).open(s); err != nil && !o.IndexOnly && isDamage(err) {
		br.damaged(err)
		reason := wire.AsCorrupt(err)
		err = scanBag(br)
		if reason != nil {
			// With the index section in its place, or met by the scan, nothing before it is
			// missing: what else was lost the scan has told.
			reason.Recovered = err == nil && br.scanned
		}
	}
	if err != nil {
		return nil, err
	}
	br.summarize()
	return br, nil
}

// isDamage reports whether err is about the contents of a file that was recognized as
// a bag, so that a scan may find more.
func isDamage(err error) bool {
	return errors.Is(err, rosbag.ErrCorrupt) || errors.Is(err, rosbag.ErrLimit) || errors.Is(err, rosbag.ErrUnindexed)
}

// ChunkInfo says where a segment of a bag is and what is in it. In a 2.0 bag that is a
// chunk. Bags of older versions, and the end of a recording that was killed, have
// messages without chunks: there it is a range of the file of about 1 MiB.
type ChunkInfo struct {
	Pos        int64       // of its record, or its first one, in the file
	Start, End rosbag.Time // of its earliest and latest message
	Counts     []rosbag.ConnCount

	kind  segmentKind
	bytes int64 // of a segment that is not a chunk record: its length
}

// ChunkHeader says how a chunk is stored.
type ChunkHeader struct {
	Compression       rosbag.Compression // as the bag says, possibly unknown
	StoredBytes       int64
	UncompressedBytes int64
}

// summarize computes what covers all chunks.
func (r *Reader) summarize() {
	first := true
	for i := range r.chunks {
		c := &r.chunks[i]
		for _, n := range c.Counts {
			r.messages += uint64(n.Count)
		}
		if !r.indexed && len(c.Counts) == 0 {
			continue // a scan found no times in it
		}
		if first || c.Start.Before(r.start) {
			r.start = c.Start
		}
		if first || r.end.Before(c.End) {
			r.end = c.End
		}
		first = false
	}
	r.repeated.Count = uint32(min(uint64(r.repeated.Count), r.messages))
}

// maxDamage bounds what Damage returns.
const maxDamage = 1000

// damaged notes an error that opening met.
func (r *Reader) damaged(err error) {
	if len(r.damage) < maxDamage {
		r.damage = append(r.damage, err)
	}
}

// setConnections makes list, which is by ascending id, the connections of the bag.
func (r *Reader) setConnections(list []*rosbag.Connection) {
	r.conns = list
	r.byID = make(map[rosbag.ConnID]int32, len(list))
	for i, c := range list {
		r.byID[c.ID] = int32(i)
	}
}

// Version returns the version of the bag: "0", "1.0", "1.1", "1.2" or "2.0", and with
// FutureVersion any "2.x".
func (r *Reader) Version() string { return r.version }

// Encryption returns what an encrypted bag says about itself, nil if the bag is not encrypted.
// The caller must not modify it.
func (r *Reader) Encryption() *rosbag.Encryption { return r.decrypter.Encryption() }

// Elapsed reports whether the times of messages count from the start of the recording,
// as in bags of the versions 0, 1.0 and, of the first recorder, 1.1.
func (r *Reader) Elapsed() bool { return r.elapsed }

// Indexed reports whether the bag has a good index. A 2.0 bag was opened through it; a
// 1.2 bag was read from front to back all the same, because its index does not tell
// which messages were latched, and agrees with its index.
func (r *Reader) Indexed() bool { return r.indexed }

// Damage returns what NewReader met: why the index was not used, if there should be
// one, and what could not be read, in that order. Nothing is lost by ErrUnindexed and
// by a CorruptError with Recovered set. At most 1000 errors are kept. What a
// segment hides comes from Cursor.Next. The caller must not modify the slice.
//
// A bag that starts behind the end of this one is damage, too: a Reader does not read
// it, Recover does.
func (r *Reader) Damage() []error { return r.damage }

// Connections returns all connections by ascending id. The caller must not modify
// the slice.
func (r *Reader) Connections() []*rosbag.Connection { return r.conns }

// Chunks returns the segments in file order. The caller must not modify the slice.
func (r *Reader) Chunks() []ChunkInfo { return r.chunks }

// Start returns the time of the earliest message, the zero Time if there is none.
func (r *Reader) Start() rosbag.Time { return r.start }

// End returns the time of the latest message, the zero Time if there is none.
func (r *Reader) End() rosbag.Time { return r.end }

// Messages returns the number of messages as the chunk infos say, or a scan has found.
func (r *Reader) Messages() uint64 { return r.messages }

// IndexPos returns where the index section starts, 0 if the bag was not opened through it.
func (r *Reader) IndexPos() int64 { return r.indexPos }

// Size returns the size of the file.
func (r *Reader) Size() int64 { return r.size }

// ChunkHeader reads the header of chunk i.
func (r *Reader) ChunkHeader(i int) (ChunkHeader, error) {
	var l chunkLoader
	p, err := l.place(r, i)
	if err != nil {
		return ChunkHeader{}, err
	}
	return ChunkHeader{p.Compression, p.Stored, p.Size}, nil
}

// ChunkHeaders yields what ChunkHeader says about each chunk, in file order, in less
// time. After an error, which comes instead of a header, the loop may go on.
func (r *Reader) ChunkHeaders() iter.Seq2[ChunkHeader, error] {
	return func(yield func(ChunkHeader, error) bool) {
		var l chunkLoader
		from := *r
		if n := len(r.chunks); n > 1 && (r.chunks[n-1].Pos-r.chunks[0].Pos)/int64(n) < smallChunkBytes {
			from.r = &window{r: r.r}
		}
		for i := range r.chunks {
			p, err := l.place(&from, i)
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
	l := r.indexes.get(r)
	defer r.indexes.Put(l)
	entries, err := l.load(r, i, keep)
	if err != nil {
		return nil, err
	}
	out := make([]IndexEntry, len(entries))
	for n, e := range entries {
		out[n] = IndexEntry{r.conns[e.conn], e.time(), e.offset}
	}
	return out, nil
}

// Use makes r keep chunks and messages in c, or nowhere if c is nil. Query.Reuse is then of
// no effect.
func (r *Reader) Use(c *Cache) { r.cache.Store(c) }
