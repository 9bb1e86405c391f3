package bagfmt

import (
	"io"
	"iter"
)

// ReaderOptions limits what a Reader does. The zero value is ready to use.
type ReaderOptions struct {
	MaxChunkBytes int64 // largest chunk, stored or unpacked; zero means 256 MiB, more than 2 GiB - 1 is refused
	CacheBytes    int64 // unpacked chunks that one Cursor keeps; zero means 128 MiB
	FutureVersion bool  // read any version 2.x as if it were 2.0
}

// Reader reads a closed bag through its index.
type Reader struct{}

// ChunkInfo says where a chunk is and what is in it.
type ChunkInfo struct {
	Pos        int64
	Start, End Time
	Counts     []ConnCount
}

// ChunkHeader says how a chunk is stored.
type ChunkHeader struct {
	Compression       Compression
	StoredBytes       int64
	UncompressedBytes int64
}

// Query selects messages. The zero Query selects all.
type Query struct {
	Keep       func(*Connection) bool // nil keeps all
	Start, End Time                   // inclusive; a zero Time leaves that side open
}

// Cursor walks over the messages of a Query in time order.
type Cursor struct{}

func NewReader(r io.ReaderAt, size int64, o ReaderOptions) (*Reader, error) { panic("todo") }
func (r *Reader) Version() string                                           { panic("todo") }
func (r *Reader) Connections() []*Connection                                { panic("todo") }
func (r *Reader) Chunks() []ChunkInfo                                       { panic("todo") }
func (r *Reader) Start() Time                                               { panic("todo") }
func (r *Reader) End() Time                                                 { panic("todo") }
func (r *Reader) Messages() uint64                                          { panic("todo") }
func (r *Reader) IndexPos() int64                                           { panic("todo") }
func (r *Reader) Size() int64                                               { panic("todo") }
func (r *Reader) ChunkHeader(i int) (ChunkHeader, error)                    { panic("todo") }
func (r *Reader) Cursor(q Query) *Cursor                                    { panic("todo") }
func (c *Cursor) Next() (*Message, error)                                   { panic("todo") }
func (r *Reader) All(q Query) iter.Seq2[*Message, error]                    { panic("todo") }
func (r *Reader) LastBefore(conn ConnID, t Time) (*Message, error)          { panic("todo") }
