package foxglove

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/live"
	"github.com/gorosbag/gorosbag/internal/loglimit"
)

// maxControl is how many answers to requests wait to be sent. A viewer that does not read them is
// not read from.
const maxControl = 16

// session serves one viewer. One goroutine reads the viewer's requests, and one writes.
type session struct {
	server  *Server
	peer    string
	since   time.Time
	ws      *websocket.Conn
	wire    *wire
	sdk     bool // the subprotocol is sdkProtocol
	viewer  *live.Viewer
	subs    subscriptions
	control chan []byte // JSON messages to be written
	answers *mailbox
	busy    atomic.Bool // a message is being written

	// unwatchGraph ends the goroutine that sends the connection graph; nil if there is none. It
	// belongs to the reader.
	unwatchGraph context.CancelFunc
	watching     sync.WaitGroup
}

// serve serves the viewer until it leaves or life ends.
func (s *session) serve(life context.Context) {
	defer s.wire.Close() //nolint:errcheck // closing again
	log := s.server.log.With(zap.String("peer", s.peer))
	info := s.server.source.Info()
	viewer, err := s.server.source.Store.Attach(info.Clock)
	if err != nil {
		log.Warn("viewer refused: too many are connected", loglimit.OnRequest())
		s.refuse(&info)
		return
	}
	defer viewer.Close()
	s.viewer, s.subs = viewer, newSubscriptions()
	if p := s.server.source.Playback; p != nil {
		viewer.SetTime(p.State().Time)
	}
	s.server.add(s)
	defer s.server.remove(s)
	log.Info("viewer connected", loglimit.OnRequest(), zap.String("protocol", s.ws.Subprotocol()))
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	// A write that is under way when the server ends must end soon, too.
	stop := context.AfterFunc(life, func() {
		s.wire.finish(s.server.timing.farewell)
		cancel(errServerEnds)
	})
	defer stop()
	var reading sync.WaitGroup
	// owner: serve; ends when the connection is closed.
	reading.Go(func() { cancel(s.read(ctx)) })
	err = newWriter(s, &info).run(ctx)
	if errors.Is(context.Cause(ctx), errServerEnds) {
		err = errServerEnds
		s.farewell(ending, websocket.StatusGoingAway)
	}
	cancel(err)
	s.wire.Close() //nolint:errcheck,gosec // which ends the reader
	reading.Wait()
	stats := viewer.Stats()
	log.Info("viewer disconnected", loglimit.OnRequest(), zap.Uint64("messages", stats.Messages), zap.Uint64("skipped", stats.Skipped), zap.NamedError("why", context.Cause(ctx)))
}

var (
	errServerEnds = errors.New("the server ends")
	errStalled    = errors.New("the viewer does not answer")
)

// refuse tells a viewer that there are too many.
func (s *session) refuse(info *live.Info) {
	s.wire.finish(s.server.timing.farewell)
	if s.writeText(encode(serverInfo{Op: "serverInfo", Name: info.Name, Capabilities: []string{}})) == nil {
		s.farewell(tooManyText, websocket.StatusTryAgainLater)
	}
}

// farewell says why the connection is closed, and closes it, within timing.farewell.
func (s *session) farewell(why string, code websocket.StatusCode) {
	s.wire.finish(s.server.timing.farewell)
	closing := time.AfterFunc(s.server.timing.farewell, func() { s.wire.Close() }) //nolint:errcheck,gosec // nobody is left to tell
	defer closing.Stop()
	l := levelInfo
	if code == websocket.StatusTryAgainLater {
		l = levelError
	}
	if s.writeText(encodeStatus(l, why, "")) == nil {
		s.ws.Close(code, why) //nolint:errcheck,gosec // nobody is left to tell
	}
}

// writeText writes a JSON message.
func (s *session) writeText(b []byte) error {
	s.busy.Store(true)
	defer s.busy.Store(false)
	return s.ws.Write(context.Background(), websocket.MessageText, b) // the wire has deadlines
}

// answersPing reports whether a ping of the viewer is answered. While a message is being written
// there is no time to: the viewer sees that its server is alive.
func (s *session) answersPing(context.Context, []byte) bool { return !s.busy.Load() }

// send lets the writer send a JSON message. It waits while the viewer does not read.
func (s *session) send(ctx context.Context, message []byte) {
	select {
	case s.control <- message:
	case <-ctx.Done():
	}
}
