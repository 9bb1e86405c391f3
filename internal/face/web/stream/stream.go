// Package stream writes answers that may take longer than the deadlines of the server's connections, to
// clients that keep reading.
package stream

import (
	"net/http"
	"time"
)

// writeTimeout bounds one write; a slower client is disconnected.
const writeTimeout = 30 * time.Second

// Stream is an answer that may take long, or comes in parts. It sets a deadline for each write, instead
// of one for the whole answer.
type Stream struct {
	http.ResponseWriter
	Begun bool // something was written

	rc *http.ResponseController
}

// New begins such an answer.
func New(w http.ResponseWriter) *Stream {
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Time{}) //nolint:errcheck,gosec // the server's connections have deadlines
	return &Stream{ResponseWriter: w, rc: rc}
}

// Write implements io.Writer.
func (s *Stream) Write(b []byte) (int, error) {
	s.Begun = true
	s.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) //nolint:errcheck,gosec // the server's connections have deadlines
	return s.ResponseWriter.Write(b)
}

// Flush sends what was written. Its error says that the client has gone.
func (s *Stream) Flush() error { return s.rc.Flush() }
