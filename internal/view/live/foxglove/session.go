package foxglove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/view/live"
)

// maxControl bounds the answers to requests that wait to be sent. From a viewer that does not read
// them, no further requests are read.
const maxControl = 16

// session serves one viewer. One goroutine reads the viewer's requests, and one writes.
type session struct {
	server  *Server
	conn    *conn
	peer    string
	since   time.Time
	sdk     bool // the subprotocol is sdkProtocol
	viewer  *live.Viewer
	subs    subscriptions
	control chan []byte // JSON messages to be written
	answers *mailbox

	// unwatchGraph ends the goroutine that sends the connection graph; nil if there is none. It
	// belongs to the reader.
	unwatchGraph context.CancelFunc
	watching     sync.WaitGroup
}

var (
	errServerEnds   = errors.New("the server ends")
	errStalled      = errors.New("the viewer does not answer")
	errViewerCloses = errors.New("the viewer has closed the connection")
)

// serve serves the viewer until it leaves or life ends.
func (s *session) serve(life context.Context) {
	defer s.conn.close()
	log := s.server.log.With(zap.String("peer", s.peer))
	info := s.server.source.Info()
	viewer, err := s.server.source.Store.Attach(info.Clock)
	if err != nil {
		log.Warn("viewer refused: too many are connected", loglimit.OnRequest())
		s.refuse(&info)
		return
	}
	defer viewer.Close()
	s.viewer = viewer
	if p := s.server.source.Playback; p != nil {
		viewer.SetTime(p.State().Time)
	}
	s.server.add(s)
	defer s.server.remove(s)
	log.Info("viewer connected", loglimit.OnRequest(), zap.Bool("sdk", s.sdk))
	// A write that is in progress when the server ends must end soon, too.
	stop := context.AfterFunc(life, func() { s.conn.wire.finish(s.server.timing.farewell) })
	defer stop()
	ctx, cancel := context.WithCancelCause(life)
	defer cancel(nil)
	var reading sync.WaitGroup
	// owner: serve; ends when the connection is closed.
	reading.Go(func() { cancel(s.read(ctx)) })
	err = newWriter(s, &info).run(ctx)
	// After an error of writing, a message is incomplete, and nothing can follow.
	if errors.Is(err, errServerEnds) {
		s.conn.farewell(levelInfo, ending, websocket.StatusGoingAway, s.server.timing.farewell)
	}
	cancel(err)
	s.conn.close() // which ends the reader
	reading.Wait()
	stats := viewer.Stats()
	log.Info("viewer disconnected", loglimit.OnRequest(), zap.Uint64("messages", stats.Messages),
		zap.Uint64("skipped", stats.Skipped), zap.String("why", reason(err, s.server.timing.stalled)))
}

// reason returns why the connection of a viewer has ended, as a text for the log: without the addresses
// of the sockets, and without the prefixes of the libraries. stalled is timing.stalled.
func reason(err error, stalled time.Duration) string {
	var system *os.SyscallError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("the viewer has read nothing for %v: it hangs, or its network is down", stalled)
	case errors.Is(err, io.EOF):
		return "the viewer has ended the connection without a close frame"
	case errors.As(err, &system):
		return "the connection broke: " + system.Err.Error()
	}
	return err.Error()
}

// refuse tells a viewer that there are too many.
func (s *session) refuse(info *live.Info) {
	s.conn.wire.finish(s.server.timing.farewell)
	if s.conn.text(encode(serverInfo{Op: "serverInfo", Name: info.Name, Capabilities: []string{}})) == nil {
		s.conn.farewell(levelError, tooManyText, websocket.StatusTryAgainLater, s.server.timing.farewell)
	}
}

// send lets the writer send a JSON message. It waits while the viewer does not read.
func (s *session) send(ctx context.Context, message []byte) {
	select {
	case s.control <- message:
	case <-ctx.Done():
	}
}
