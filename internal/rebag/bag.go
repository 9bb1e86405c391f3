package rebag

import (
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// BagSink writes one bag.
type BagSink struct {
	w                 *bagfmt.Writer
	conns             []*rosbag.Connection // of w, indexed by the ID of the output connection
	uncompressed      bool                 // no compression
	repeated          repeatedOut
	uncompressedBytes int64 // bytes so far, before compression and without connection records
}

// NewBag starts a bag on w.
func NewBag(w io.Writer, o bagfmt.WriterOptions) (*BagSink, error) {
	bw, err := bagfmt.NewWriter(w, o)
	if err != nil {
		return nil, err
	}
	return &BagSink{w: bw, uncompressedBytes: bw.Size(), uncompressed: o.Compression == "" || o.Compression == rosbag.CompressionNone}, nil
}

// messageOverhead is the size of a message besides its payload: record header, two lengths
// and the index entry.
const messageOverhead = 46 + 12

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
	s.uncompressedBytes += int64(len(m.Data)) + messageOverhead
	if err := s.w.Write(c, m.Time, m.Data); err != nil {
		return err
	}
	if s.repeated.add(m) {
		s.w.SetRepeated(s.repeated.Repeated)
	}
	return nil
}

// Close implements Sink.
func (s *BagSink) Close() error { return s.w.Close() }

// Size returns the size of the bag so far. With compression, open chunks do not count.
func (s *BagSink) Size() int64 {
	if s.uncompressed {
		return max(s.w.Size(), s.uncompressedBytes)
	}
	return s.w.Size()
}

// Abort implements Sink.
func (s *BagSink) Abort() { s.w.Abort() }
