package table

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/mcap"
	"github.com/gorosbag/gorosbag/bagfmt/internal/old"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Table is what is known of an opened bag. It does not change once the bag is open, and many
// goroutines may use it if they may use its file.
type Table struct {
	File      io.ReaderAt
	Size      int64
	Options   Options
	Version   string
	IndexPos  int64
	IndexEnd  int64 // of the index section, if the bag was opened through it
	DataEnd   int64 // where the records of chunks and their index data end
	Elapsed   bool
	Indexed   bool
	Damage    []error
	Old       *old.Format          // of a bag of a version before 2.0
	MCAP      *mcap.File           // of an MCAP file
	Decrypter *wire.Decrypter      // of an encrypted bag
	Conns     []*rosbag.Connection // by id
	ByID      map[rosbag.ConnID]int32
	Chunks    []Chunk
	Start     rosbag.Time
	End       rosbag.Time
	Messages  uint64
	Repeated  rosbag.Repeated
}

const defaultCacheBytes = 128 << 20

// Options are those of a bagfmt.ReaderOptions, which says what each means.
type Options struct {
	MaxChunkBytes int64
	CacheBytes    int64
	FutureVersion bool
	IndexOnly     bool
	Cache         *Cache
	Interrupted   func() error
	KeepForeign   bool
	UnwrapKey     func(rosbag.Encryption) (key []byte, err error)
}

// WithDefaults returns o with defaults for what is zero. The error matches rosbag.ErrLimit.
func (o Options) WithDefaults() (Options, error) {
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	var err error
	o.MaxChunkBytes, err = wire.ChunkLimit(o.MaxChunkBytes)
	return o, err
}

// Chunk says where a segment of a bag is and what is in it. In a 2.0 bag that is a
// chunk, as in MCAP. Bags of older versions, and the end of a recording that was killed, have
// messages without chunks: there it is a range of the file of about 1 MiB.
type Chunk struct {
	rosbag.Span // its Pos is that of its record, or of its first one

	Kind       Kind
	Bytes      int64 // of a segment that is not a chunk record, and of a chunk record of MCAP: its length
	IndexBytes int64 // of the message index records after a chunk of MCAP
}

// Summarize computes what covers all chunks.
func (bag *Table) Summarize() {
	first := true
	for i := range bag.Chunks {
		c := &bag.Chunks[i]
		for _, n := range c.Counts {
			bag.Messages += uint64(n.Count)
		}
		if len(c.Counts) == 0 && (!bag.Indexed || bag.MCAP != nil) {
			continue // a scan found no times in it; in MCAP they may be those of other encodings
		}
		if first || c.Start.Before(bag.Start) {
			bag.Start = c.Start
		}
		if first || bag.End.Before(c.End) {
			bag.End = c.End
		}
		first = false
	}
	bag.Repeated.Count = uint32(min(uint64(bag.Repeated.Count), bag.Messages))
}

// MaxDamage bounds what Damage returns.
const MaxDamage = 1000

// Damaged notes an error that opening met.
func (bag *Table) Damaged(err error) {
	if len(bag.Damage) < MaxDamage {
		bag.Damage = append(bag.Damage, err)
	}
}

// Tolerate notes an error that is damage, and returns any other.
func (bag *Table) Tolerate(err error) error {
	if !wire.IsDamage(err) {
		return err
	}
	bag.Damaged(err)
	return nil
}

// SetConnections makes list, which is by ascending id, the connections of the bag.
func (bag *Table) SetConnections(list []*rosbag.Connection) {
	bag.Conns = list
	bag.ByID = make(map[rosbag.ConnID]int32, len(list))
	for i, c := range list {
		bag.ByID[c.ID] = int32(i)
	}
}
