package tcpros

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"
)

const (
	acceptWait  = 100 * time.Millisecond // after an error of accept, such as too many open files
	mostPending = 256                    // connections whose header is not yet complete
	clipBytes   = 256                    // of a peer's text in the log
)

// clip shortens what a peer says for the log.
func clip(text string) string {
	if len(text) > clipBytes {
		return text[:clipBytes]
	}
	return text
}

// tcprosServer takes the connections of subscribers and of callers of services.
type tcprosServer struct {
	node *Node
	ln   net.Listener
	said said

	mu      sync.Mutex
	pending []net.Conn // oldest first
}

// run accepts until ctx is done and returns when every link has ended.
func (s *tcprosServer) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() { _ = s.ln.Close() })
	defer stop()
	for {
		conn, err := s.ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			if s.said.due("accept") {
				s.node.log.Warn("connections cannot be accepted", zap.Error(err))
			}
			select {
			case <-ctx.Done():
			case <-time.After(acceptWait):
			}
			continue
		}
		s.admit(conn)
		// owner: run; ends when the subscriber leaves or ctx is done.
		wg.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			defer conn.Close() //nolint:errcheck // what had to arrive was drained
			s.handle(conn)
		})
	}
}

// admit counts a connection as pending. When there are too many the oldest gives
// way: silent ones must not shut others out.
func (s *tcprosServer) admit(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) >= mostPending {
		_ = s.pending[0].Close()
		s.pending = slices.Delete(s.pending, 0, 1)
	}
	s.pending = append(s.pending, c)
}

func (s *tcprosServer) settled(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.pending, c); i >= 0 {
		s.pending = slices.Delete(s.pending, i, i+1)
	}
}

// handle is one connection, from its header to its end.
func (s *tcprosServer) handle(conn net.Conn) {
	defer s.settled(conn)
	n := s.node
	peer := zap.String("peer", conn.RemoteAddr().String())
	if err := conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return
	}
	setKeepAlive(conn, n.keepAlive.Load())
	h, err := ReadHeader(conn)
	if err != nil {
		n.log.Debug("no header from a peer", peer, zap.Error(err))
		return
	}
	if _, ok := h.Get("service"); ok {
		s.handleService(conn, h)
		return
	}
	p, text := s.match(conn, h)
	if text != "" {
		s.refuse(conn, "subscriber refused", h, text)
		return
	}
	if p == nil { // draining: an error text would be an error line over there
		return
	}
	if _, err := conn.Write(AppendHeader(nil, p.header(h))); err != nil {
		return
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return
	}
	// Go sets TCP_NODELAY on every connection. It is left on even for tcp_nodelay=0:
	// frames are written in batches, and Nagle's wait would spoil their timing.
	l := newOutLink(conn, h.get("callerid"), n.nextLink(), p.opts.QueueFrames, &p.room)
	if !p.add(l) {
		return
	}
	s.settled(conn)
	n.log.Debug("subscriber connected", peer, zap.String("topic", p.topic), zap.String("callerid", clip(l.callerID)))
	err = l.serve()
	p.remove(l)
	if host, _, _ := net.SplitHostPort(conn.RemoteAddr().String()); errors.Is(err, errSilent) && s.said.due("silent "+host) {
		n.log.Warn("a subscriber's machine is gone without a word: link closed", peer, zap.String("topic", p.topic), zap.String("callerid", clip(l.callerID)))
	}
	n.log.Debug("subscriber left", peer, zap.String("topic", p.topic), zap.String("callerid", clip(l.callerID)), zap.Error(err))
}

// refuse tells a peer, and the log, why it is not served.
func (s *tcprosServer) refuse(conn net.Conn, what string, h Header, text string) {
	// By address: all names are the peer's choice, without end.
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	if s.said.due(host) {
		s.node.log.Warn(what, zap.String("peer", conn.RemoteAddr().String()), zap.String("callerid", clip(h.get("callerid"))),
			zap.String("name", clip(cmp.Or(h.get("topic"), h.get("service")))), zap.String("reason", clip(text)))
	}
	_, _ = conn.Write(AppendHeader(nil, Header{{Key: "error", Value: text}})) // courtesy
}

// goodCallerID reports whether getBusInfo and the log can carry the ID. Names that
// ROS does not allow are let in: rospy only warns its user of "my-node".
func goodCallerID(id string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	return len(id) <= maxNameBytes && utf8.ValidString(id) && !strings.ContainsFunc(id, odd)
}

// match finds the publication that a subscriber asks for, or the text to refuse it
// with; the texts are stock's. Both are zero while the node drains.
func (s *tcprosServer) match(conn net.Conn, h Header) (*Publication, string) {
	for _, key := range []string{"md5sum", "topic", "callerid"} {
		if v, ok := h.Get(key); !ok || v == "" {
			return nil, "Header from subscriber did not have the required elements: md5sum, topic, callerid"
		}
	}
	if !goodCallerID(h.get("callerid")) {
		return nil, fmt.Sprintf("received a connection with an invalid callerid [%.300q] from [%s].", clip(h.get("callerid")), linkName(conn))
	}
	topic := cleanName(h.get("topic"))
	p := s.node.publication(topic)
	if s.node.draining.Load() {
		return nil, ""
	}
	if p == nil {
		return nil, fmt.Sprintf("received a connection for a nonexistent topic [%s] from [%s] [%s].", topic, linkName(conn), h.get("callerid"))
	}
	return p, p.refuse(h)
}
