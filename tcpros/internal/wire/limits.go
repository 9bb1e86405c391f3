package wire

import (
	"errors"
	"net"
	"os"
	"time"
)

// HandshakeTimeout bounds the exchange of both headers, from the connection on.
const HandshakeTimeout = 10 * time.Second

// Limits of a message, in bytes without the length.
const (
	DefaultMaxMessage = 256 << 20
	HardMaxMessage    = 1_000_000_000 // roscpp closes a link that sends a longer message
)

// Within each StallAfter, a message must end or progress by StallBytes, which is 1 kB/s. The time
// between messages has no limit: rare and latched topics are legal.
const (
	StallAfter = 60 * time.Second
	StallBytes = 60_000
)

// AnyMD5 in a header matches every md5sum.
const AnyMD5 = "*"

// StallReader reads a message that has begun to arrive. In each StallAfter, the message must
// end or progress by 1 kB/s.
type StallReader struct {
	Conn        net.Conn
	deadlineSet bool
	progress    int
}

// Read implements io.Reader.
func (p *StallReader) Read(b []byte) (int, error) {
	if !p.deadlineSet || p.progress >= StallBytes {
		if err := p.Conn.SetReadDeadline(time.Now().Add(StallAfter)); err != nil {
			return 0, err
		}
		p.deadlineSet, p.progress = true, 0
	}
	n, err := p.Conn.Read(b)
	p.progress += n
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrStalled
	}
	return n, err
}
