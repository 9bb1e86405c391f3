package bagfmt

// DefaultChunkBytes is the chunk size of stock rosbag.
const DefaultChunkBytes = 768 << 10

// ConnRecords knows which connection records one output file holds already, and
// the budget for repeating them. The zero value is ready.
type ConnRecords struct{}

// ChunkBuilder collects the records of one open chunk.
type ChunkBuilder struct{}

// SealedChunk is a finished chunk.
type SealedChunk struct {
	Record            []byte // chunk record and its index data records, ready for one Write
	Compression       Compression
	UncompressedBytes int64
	StoredBytes       int64
	Start, End        Time
	Counts            []ConnCount
}

// ConnCount is the number of messages of one connection in a chunk.
type ConnCount struct {
	Conn  *Connection
	Count uint32
}

func (b *ChunkBuilder) Reset(r *ConnRecords)                                       { panic("todo") }
func (b *ChunkBuilder) AppendRun(c *Connection, first Time, run []byte, count int) { panic("todo") }
func (b *ChunkBuilder) BeginMessage(c *Connection, frameBytes int)                 { panic("todo") }
func (b *ChunkBuilder) Room(n int) []byte                                          { panic("todo") }
func (b *ChunkBuilder) FinishMessage(t Time)                                       { panic("todo") }
func (b *ChunkBuilder) AbortMessage()                                              { panic("todo") }
func (b *ChunkBuilder) Len() int                                                   { panic("todo") }
func (b *ChunkBuilder) Cap() int                                                   { panic("todo") }
func (b *ChunkBuilder) Messages() int                                              { panic("todo") }
func (b *ChunkBuilder) HasConn(id ConnID) bool                                     { panic("todo") }
func (b *ChunkBuilder) Seal(z *Compressor, buf []byte) (*SealedChunk, error)       { panic("todo") }
