package rebag

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// BagSink writes one bag.
type BagSink struct {
	w     *bagfmt.Writer
	conns []*bagfmt.Connection // of w, by id of the output's connection
	plain bool                 // no compression
	added int64                // bytes so far, without compression and connections
}

// NewBag starts a bag on w.
func NewBag(w io.Writer, o bagfmt.WriterOptions) (*BagSink, error) {
	bw, err := bagfmt.NewWriter(w, o)
	if err != nil {
		return nil, err
	}
	return &BagSink{w: bw, added: bw.Size(), plain: o.Compression == "" || o.Compression == bagfmt.CompressionNone}, nil
}

// recordBytes is what a message costs beside its payload: record header, two length
// words and the entry of the index.
const recordBytes = 46 + 12

// Write implements Sink.
func (s *BagSink) Write(m *Message) error {
	for int(m.Conn.ID) >= len(s.conns) {
		s.conns = append(s.conns, nil)
	}
	c := s.conns[m.Conn.ID]
	if c == nil {
		var err error
		if c, err = s.w.AddConnection(m.Conn.Topic, m.Conn.Header); err != nil {
			return err
		}
		s.conns[m.Conn.ID] = c
	}
	s.added += int64(len(m.Data)) + recordBytes
	return s.w.WriteMessage(c, m.Time, m.Data)
}

// Close implements Sink.
func (s *BagSink) Close() error { return s.w.Close() }

// Size returns the bytes so far: with compression without those of open chunks.
func (s *BagSink) Size() int64 {
	if s.plain {
		return max(s.w.Size(), s.added)
	}
	return s.w.Size()
}

// Abort implements Sink.
func (s *BagSink) Abort() { _ = s.w.Close() } // the result is of no use
