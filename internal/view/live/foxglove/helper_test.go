package foxglove

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap/zaptest"

	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/rosbag"
)

// deadline is for what happens at once unless the machine is very slow.
const deadline = 20 * time.Second

func newSource(latched func(live.ChannelID) []live.Frame, limits live.Limits) live.Source {
	return live.Source{Store: live.NewStore(limits, latched), Info: func() live.Info {
		return live.Info{Name: "gorecord /test", Session: "session-1"}
	}}
}

// serve serves a source until the test ends.
func serve(t testing.TB, source live.Source, change ...func(*timing)) (s *Server, url string) {
	t.Helper()
	s = New(source, zaptest.NewLogger(t))
	for _, c := range change {
		c(&s.timing)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: deadline}
	var done sync.WaitGroup
	// owner: the test; ends when the server is closed.
	done.Go(func() { server.Serve(ln) })
	t.Cleanup(func() {
		s.Close()
		server.Close()
		done.Wait()
	})
	return s, "ws://" + ln.Addr().String()
}

// viewer is a viewer of a test.
type viewer struct {
	t  *testing.T
	ws *websocket.Conn
}

// connect connects a viewer that offers subprotocols.
func connect(t *testing.T, url string, protocols ...string) *viewer {
	t.Helper()
	if protocols == nil {
		protocols = subprotocols
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: protocols, CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body != nil {
		resp.Body.Close()
	}
	ws.SetReadLimit(1 << 30)
	t.Cleanup(func() { ws.CloseNow() })
	return &viewer{t, ws}
}

// receive returns the next message: of a text message its op and all of it.
func (v *viewer) receive() (op string, message map[string]any, binary []byte) {
	v.t.Helper()
	op, message, binary, err := v.tryReceive()
	if err != nil {
		v.t.Fatal(err)
	}
	return op, message, binary
}

func (v *viewer) tryReceive() (op string, message map[string]any, binary []byte, err error) {
	ctx, cancel := context.WithTimeout(v.t.Context(), deadline)
	defer cancel()
	kind, b, err := v.ws.Read(ctx)
	if err != nil || kind == websocket.MessageBinary {
		return "", nil, b, err
	}
	if err := json.Unmarshal(b, &message); err != nil {
		return "", nil, nil, err
	}
	op, _ = message["op"].(string)
	return op, message, nil, nil
}

// expect receives messages until one has the operation, and returns it.
func (v *viewer) expect(op string) map[string]any {
	v.t.Helper()
	for {
		got, message, _ := v.receive()
		if got == op {
			return message
		}
	}
}

// expectBinary receives messages until one has the opcode, and returns it.
func (v *viewer) expectBinary(opcode byte) []byte {
	v.t.Helper()
	for {
		_, _, b := v.receive()
		if len(b) > 0 && b[0] == opcode {
			return b
		}
	}
}

// expectStatus receives messages until one is a status with the text.
func (v *viewer) expectStatus(text string) {
	v.t.Helper()
	for {
		if message := v.expect("status"); message["message"] == text {
			return
		}
	}
}

func (v *viewer) send(kind websocket.MessageType, b []byte) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), deadline)
	defer cancel()
	if err := v.ws.Write(ctx, kind, b); err != nil {
		v.t.Fatal(err)
	}
}

func (v *viewer) text(format string, args ...any) {
	v.t.Helper()
	v.send(websocket.MessageText, fmt.Appendf(nil, format, args...))
}

// subscribe subscribes to channels by IDs that are 100 higher.
func (v *viewer) subscribe(feeds ...*live.Feed) {
	v.t.Helper()
	for _, f := range feeds {
		v.text(`{"op":"subscribe","subscriptions":[{"id":%d,"channelId":%d}]}`, f.Channel().ID+100, f.Channel().ID)
		wait(v.t, f.Wanted)
	}
}

// wait waits until a condition is met.
func wait(t testing.TB, met func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !met(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition is not met in time")
		}
	}
}

func open(s *live.Store, topic string) *live.Feed {
	return s.Open(live.Channel{Topic: topic, Type: "std_msgs/String", MD5Sum: "992ce8a1687cec8c8bd883ec73ca41d1", Definition: "string data\n"})
}

func at(sec uint32) rosbag.Time { return rosbag.Time{Sec: sec} }
