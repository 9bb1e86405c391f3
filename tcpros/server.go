package tcpros

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/publink"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// acceptWait is the time after an error of Accept, such as too many open files.
const acceptWait = 100 * time.Millisecond

// tcprosServer accepts connections of subscribers and of service clients.
type tcprosServer struct {
	node *Node
	ln   net.Listener
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
			s.node.log.Warn("connections cannot be accepted", zap.Error(err))
			select {
			case <-ctx.Done():
			case <-time.After(acceptWait):
			}
			continue
		}
		read := s.node.pending.Accept(conn)
		// owner: run; ends when the peer closes the connection or ctx ends.
		wg.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			defer conn.Close() //nolint:errcheck // Drain has waited for what has to arrive
			s.handle(conn, read)
		})
	}
}

// handle serves one connection, from its header, whose memory is charged to read, to its end.
func (s *tcprosServer) handle(conn net.Conn, read *wire.PendingRead) {
	defer read.End()
	n := s.node
	peer := zap.String("peer", conn.RemoteAddr().String())
	if err := conn.SetDeadline(time.Now().Add(wire.HandshakeTimeout)); err != nil {
		return
	}
	endpoint.SetKeepAlive(conn, n.keepAlive.Load())
	h, err := read.Header()
	if err != nil {
		n.log.Debug("no header from a peer", peer, zap.Error(err))
		return
	}
	if _, ok := h.Get("service"); ok {
		s.handleService(conn, h, read)
		return
	}
	p, a, refusal := s.match(conn, h)
	if refusal.Text != "" {
		s.refuse(conn, "subscriber refused", h, refusal)
		return
	}
	if p == nil { // draining: the subscriber would log an error text as an error
		return
	}
	// Go sets TCP_NODELAY on every connection. It stays set even for tcp_nodelay=0: frames
	// are written in batches, and Nagle's algorithm would delay them.
	l := p.out.NewLink(conn, h, a, n.nextLink())
	// Add the link before it sends the reply: a subscriber that has received the reply gets the
	// latched frames and all later ones, even if the node drains at the same moment.
	if !p.out.Add(l) {
		return
	}
	topic, caller := zap.String("topic", p.Topic()), zap.String("callerid", names.Clip(h.Value("callerid")))
	read.End()
	n.log.Debug("subscriber accepted", peer, topic, caller)
	err = l.Serve()
	p.out.Remove(l)
	if errors.Is(err, publink.ErrSilent) {
		n.log.Warn("a subscriber's machine is gone without a word: link closed", peer, topic, caller)
	}
	n.log.Debug("subscriber left", peer, topic, caller, zap.Error(err))
}

// refuse logs the reason for not serving a peer, and sends the reason to the peer.
func (s *tcprosServer) refuse(conn net.Conn, what string, h wire.Header, r publink.Refusal) {
	s.node.log.Warn(what, zap.String("peer", conn.RemoteAddr().String()),
		zap.String("callerid", names.Clip(h.Value("callerid"))),
		zap.String("name", names.Clip(cmp.Or(h.Value("topic"), h.Value("service")))),
		zap.String("reason", cmp.Or(r.Why, names.Clip(r.Text))))
	_, _ = conn.Write(wire.AppendHeader(nil, wire.Header{{Key: "error", Value: r.Text}})) // courtesy
}

// validCallerID reports whether getBusInfo and the log can represent the ID. It accepts names
// that ROS does not permit: for a name like "my-node" rospy only logs a warning.
func validCallerID(id string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	return len(id) <= names.MaxBytes && utf8.ValidString(id) && !strings.ContainsFunc(id, odd)
}

// match returns the publication that a subscriber requests and what it gets instead of the published
// frames, or the reason to refuse it, in stock's words. All are zero while the node drains.
func (s *tcprosServer) match(conn net.Conn, h wire.Header) (*Publication, *publink.Adapted, publink.Refusal) {
	refuse := func(format string, args ...any) (*Publication, *publink.Adapted, publink.Refusal) {
		return nil, nil, publink.Refusal{Text: fmt.Sprintf(format, args...)}
	}
	for _, key := range []string{"md5sum", "topic", "callerid"} {
		if v, ok := h.Get(key); !ok || v == "" {
			return refuse("Header from subscriber did not have the required elements: md5sum, topic, callerid")
		}
	}
	if !validCallerID(h.Value("callerid")) {
		return refuse("received a connection with an invalid callerid [%.300q] from [%s].",
			names.Clip(h.Value("callerid")), wire.LinkName(conn))
	}
	topic := names.Clean(h.Value("topic"))
	p := s.node.Publication(topic)
	if s.node.draining.Load() {
		return nil, nil, publink.Refusal{}
	}
	if p == nil {
		return refuse("received a connection for a nonexistent topic [%s] from [%s] [%s].", topic,
			wire.LinkName(conn), h.Value("callerid"))
	}
	a, r := p.out.Accept(h)
	return p, a, r
}

// matchService returns the service that a client requests, or the reason to refuse it, in
// stock's words.
func (s *tcprosServer) matchService(conn net.Conn, h wire.Header) (*Service, string) {
	for _, key := range []string{"md5sum", "service", "callerid"} {
		if h.Value(key) == "" {
			return nil, "bogus tcpros header. did not have the required elements: md5sum, service, callerid"
		}
	}
	name, md5 := names.Clean(h.Value("service")), h.Value("md5sum")
	service := s.node.service(name)
	if service == nil {
		return nil, fmt.Sprintf("received a tcpros connection for a nonexistent service [%s] from [%s].",
			name, wire.LinkName(conn))
	}
	if want := service.svc.Type().MD5Sum; md5 != wire.AnyMD5 && !strings.EqualFold(md5, want) {
		return nil, fmt.Sprintf("client wants service %s to have md5sum %s, but it has %s. Dropping connection.", name, md5, want)
	}
	return service, ""
}

// handleService serves one connection of a client after its header, whose memory is charged
// to read.
func (s *tcprosServer) handleService(conn net.Conn, h wire.Header, read *wire.PendingRead) {
	service, text := s.matchService(conn, h)
	if text != "" {
		s.refuse(conn, "service call refused", h, publink.Refusal{Text: text})
		return
	}
	if text := service.svc.Serve(conn, h, read); text != "" {
		s.refuse(conn, "service call refused", h, publink.Refusal{Text: text})
	}
}
