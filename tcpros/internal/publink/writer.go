package publink

import "net"

// A batch is the frames that the writer moves out of the queue at once.
const (
	batchFrames = 1024      // frames in one writev: the kernel's limit
	batchBytes  = 256 << 10 // a batch ends above this: frames in a batch can no longer be dropped

	// If the frames of a batch are shorter than this on average, they are copied into one
	// buffer: a separate iovec costs the kernel as much as copying some hundred bytes.
	shortFrame = 1 << 10
	joinBytes  = 64 << 10
)

// writer writes frames to a connection. Only one goroutine at a time may use a writer.
type writer struct {
	conn    net.Conn
	quick   *quickWriter // may be nil
	partial []byte       // the rest of a frame that quick has written in part
	batch   [][]byte
	bufs    net.Buffers // send's view of batch
	joined  []byte      // the buffer for short frames
}

// send sends the batch.
func (w *writer) send() (n int64, err error) {
	if len(w.batch) == 1 {
		m, err := w.conn.Write(w.batch[0])
		return int64(m), err
	}
	size := 0
	for _, f := range w.batch {
		size += len(f)
	}
	if size/len(w.batch) >= shortFrame {
		w.bufs = net.Buffers(w.batch)
		return w.bufs.WriteTo(w.conn)
	}
	for _, f := range w.batch {
		if len(w.joined)+len(f) > joinBytes {
			m, err := w.flush()
			if n += m; err != nil {
				return n, err
			}
		}
		w.joined = append(w.joined, f...)
	}
	m, err := w.flush()
	return n + m, err
}

// flush sends the joined frames.
func (w *writer) flush() (int64, error) {
	n, err := w.conn.Write(w.joined)
	w.joined = w.joined[:0]
	return int64(n), err
}
