package web

import (
	"io"
	"net/http"
	"time"

	"github.com/gorosbag/gorosbag/internal/command"
)

// maxDownloads is the number of requests that read a bag concurrently: recording needs the disk, too.
const maxDownloads = 4

// downloadWriteTimeout bounds one write of a download; a slower client is disconnected.
const downloadWriteTimeout = 30 * time.Second

// HandleDownload is Handle for what reads a bag: at most maxDownloads requests are served at once.
func (s *Server) HandleDownload(pattern string, h http.HandlerFunc) {
	s.Handle(pattern, func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.files <- struct{}{}:
			defer func() { <-s.files }()
		default:
			w.Header().Set("Retry-After", "5")
			WriteError(w, command.Refused(command.Unavailable, "too many bags are read at once: try again later"))
			return
		}
		h(w, r)
	})
}

// ServeContent sends a file, or the requested range of it, however long that takes, to a client
// that keeps reading.
func ServeContent(w http.ResponseWriter, r *http.Request, modified time.Time, file io.ReadSeeker) {
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Time{}) //nolint:errcheck,gosec // the server's connections have deadlines
	http.ServeContent(deadlineWriter{w, rc}, r, "", modified, file)
}

// deadlineWriter sets a deadline for each write, instead of one for the whole response.
type deadlineWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// Write implements io.Writer.
func (p deadlineWriter) Write(b []byte) (int, error) {
	p.rc.SetWriteDeadline(time.Now().Add(downloadWriteTimeout)) //nolint:errcheck,gosec // the server's connections have deadlines
	return p.ResponseWriter.Write(b)
}
