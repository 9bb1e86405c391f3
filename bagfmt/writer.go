package bagfmt

import "io"

// WriterOptions says how a Writer packs messages. The zero value is ready to use.
type WriterOptions struct {
	Compression Compression // of chunks that WriteMessage fills; zero means none
	ChunkBytes  int         // such a chunk is sealed beyond this many bytes; zero means DefaultChunkBytes
}

// Writer writes one bag.
type Writer struct{}

func NewWriter(w io.Writer, o WriterOptions) (*Writer, error)                         { panic("todo") }
func (w *Writer) AddConnection(topic string, h ConnectionHeader) (*Connection, error) { panic("todo") }
func (w *Writer) WriteMessage(c *Connection, t Time, data []byte) error               { panic("todo") }
func (w *Writer) WriteChunk(c *SealedChunk) error                                     { panic("todo") }
func (w *Writer) Size() int64                                                         { panic("todo") }
func (w *Writer) Close() error                                                        { panic("todo") }
