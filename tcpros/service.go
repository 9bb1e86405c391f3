package tcpros

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

const (
	maxServiceLinks   = 64      // connections to one service; a new one replaces the oldest idle one
	defaultMaxRequest = 1 << 20 // bytes of one request
)

// ServiceType is the type of a service.
type ServiceType struct {
	Type         string // such as std_srvs/Trigger
	MD5Sum       string
	RequestType  string // empty means Type and "Request"
	ResponseType string // empty means Type and "Response"
}

// ServiceHandler answers one call. request is the serialized request, answer the serialized
// response, both without their length; an error is sent to the client as the service's
// refusal. Calls of several clients run concurrently, each in a goroutine of its own. ctx
// ends a grace period after the service is closed.
type ServiceHandler func(ctx context.Context, request []byte) (answer []byte, err error)

// ServiceOptions describe a service.
type ServiceOptions struct {
	Name            string
	Type            ServiceType
	MaxRequestBytes int // zero means 1 MiB; at most 1 000 000 000
	Handle          ServiceHandler
}

func (o ServiceOptions) withDefaults() (ServiceOptions, error) {
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = defaultMaxRequest
	}
	if o.Type.RequestType == "" {
		o.Type.RequestType = o.Type.Type + "Request"
	}
	if o.Type.ResponseType == "" {
		o.Type.ResponseType = o.Type.Type + "Response"
	}
	switch {
	case o.Handle == nil:
		panic("tcpros: ServiceOptions without Handle")
	case o.MaxRequestBytes < 0 || o.MaxRequestBytes > wire.HardMaxMessage:
		return o, fmt.Errorf("request limit of %d bytes: not in 1..%d", o.MaxRequestBytes, wire.HardMaxMessage)
	case o.Type.Type == "" || o.Type.Type == names.AnyType || o.Type.MD5Sum == "" || o.Type.MD5Sum == wire.AnyMD5:
		return o, fmt.Errorf("service %q of type %q, md5sum %q: a service needs definite ones", o.Name, o.Type.Type, o.Type.MD5Sum)
	}
	return o, names.CheckType(o.Type.Type)
}

// Service is one advertised service with its clients.
type Service struct {
	node           *Node
	opts           ServiceOptions
	name           string
	handle         func(request []byte) ([]byte, error) // under the service's context
	cancelHandlers context.CancelFunc                   // cancels that context

	abandoned chan struct{} // closed when running calls are abandoned
	linkEnded chan struct{} // holds a token after a link has ended

	mu     sync.Mutex
	closed bool
	links  []*serviceLink // oldest first
}

// serviceLink is the connection of one client.
type serviceLink struct {
	conn net.Conn
	busy bool // a request is being answered; guarded by the service's mu
}

// AdvertiseService advertises a service. Registration happens in the background and is
// retried for ever. A node advertises a service once.
func (n *Node) AdvertiseService(o ServiceOptions) (*Service, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	name, err := n.Resolve(o.Name)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, ErrClosed
	}
	if old := n.services[name]; old != nil {
		return nil, &ConflictError{name, old.opts.Type.Type + "/" + old.opts.Type.MD5Sum, o.Type.Type + "/" + o.Type.MD5Sum}
	}
	s := &Service{node: n, opts: o, name: name, abandoned: make(chan struct{}), linkEnded: make(chan struct{}, 1)}
	ctx, cancel := n.child()
	s.handle = func(request []byte) ([]byte, error) { return o.Handle(ctx, request) }
	s.cancelHandlers = cancel
	n.services[name] = s
	n.reg.Add(rosapi.Key{Kind: rosapi.Service, Name: name}, "", 0, nil)
	return s, nil
}

func (n *Node) service(name string) *Service {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.services[name]
}

func (n *Node) dropService(s *Service) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.services[s.name] == s {
		delete(n.services, s.name)
		n.reg.Remove(rosapi.Key{Kind: rosapi.Service, Name: s.name})
	}
}

// Name returns the resolved name.
func (s *Service) Name() string { return s.name }

// Close closes the service. Running calls have one second to end, then another second after
// their context is canceled; the goroutine of a handler that returns even later is
// abandoned. A handler must not call Close. The node unregisters the service.
func (s *Service) Close() {
	s.node.dropService(s)
	s.stop(context.Background())
}

// stop closes every link and waits for running calls, until ctx ends.
func (s *Service) stop(ctx context.Context) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	for _, l := range s.links {
		if !l.busy {
			_ = l.conn.Close()
		}
	}
	s.mu.Unlock()
	grace := s.node.timing.serviceGrace
	if !s.waitNoLinks(ctx, grace) {
		s.cancelHandlers()
		if !s.waitNoLinks(ctx, grace) {
			s.node.log.Warn("a service call does not end: given up", zap.String("service", s.name))
		}
	}
	close(s.abandoned)
	s.cancelHandlers()
	s.mu.Lock()
	for _, l := range s.links {
		_ = l.conn.Close()
	}
	s.mu.Unlock()
	s.waitNoLinks(context.WithoutCancel(ctx), grace) // the connections are closed: the goroutines end soon
}

// waitNoLinks waits until all links have ended, and reports whether they have.
func (s *Service) waitNoLinks(ctx context.Context, most time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		s.mu.Lock()
		empty := len(s.links) == 0
		s.mu.Unlock()
		if empty {
			return true
		}
		select {
		case <-s.linkEnded:
		case <-ctx.Done():
			return false
		}
	}
}

// header returns the reply to an accepted client.
func (s *Service) header() wire.Header {
	t := s.opts.Type
	return wire.Header{
		{Key: "callerid", Value: s.node.name},
		{Key: "md5sum", Value: t.MD5Sum},
		{Key: "request_type", Value: t.RequestType},
		{Key: "response_type", Value: t.ResponseType},
		{Key: "type", Value: t.Type},
	}
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
		return nil, fmt.Sprintf("received a tcpros connection for a nonexistent service [%s] from [%s].", name, wire.LinkName(conn))
	}
	if want := service.opts.Type.MD5Sum; md5 != wire.AnyMD5 && !strings.EqualFold(md5, want) {
		return nil, fmt.Sprintf("client wants service %s to have md5sum %s, but it has %s. Dropping connection.", name, md5, want)
	}
	return service, ""
}

// handleService serves one connection of a client after its header, whose memory is charged
// to read.
func (s *tcprosServer) handleService(conn net.Conn, h wire.Header, read *wire.PendingRead) {
	service, text := s.matchService(conn, h)
	if text != "" {
		s.refuse(conn, "service call refused", h, text)
		return
	}
	l := &serviceLink{conn: conn}
	if text := service.add(l); text != "" {
		s.refuse(conn, "service call refused", h, text)
		return
	}
	defer service.remove(l)
	if _, err := conn.Write(wire.AppendHeader(nil, service.header())); err != nil || h.Value("probe") == "1" {
		return
	}
	caller, persistent := names.Clip(h.Value("callerid")), h.Value("persistent") == "1" || strings.EqualFold(h.Value("persistent"), "true")
	read.End() // h is no longer used, and the connection may last long
	err := service.serve(l, persistent)
	s.node.log.Debug("service client left", zap.String("service", service.name), zap.String("callerid", caller), zap.Error(err))
}

// add adds a link. If there are too many, it closes the oldest idle one, so that idle clients
// cannot lock others out.
func (s *Service) add(l *serviceLink) (refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "the service has ended"
	}
	if len(s.links) >= maxServiceLinks {
		i := slices.IndexFunc(s.links, func(l *serviceLink) bool { return !l.busy })
		if i < 0 {
			return fmt.Sprintf("service %s is busy with %d calls", s.name, len(s.links))
		}
		_ = s.links[i].conn.Close()
		s.links = slices.Delete(s.links, i, i+1)
	}
	s.links = append(s.links, l)
	return ""
}

func (s *Service) remove(l *serviceLink) {
	s.mu.Lock()
	if i := slices.Index(s.links, l); i >= 0 {
		s.links = slices.Delete(s.links, i, i+1)
	}
	s.mu.Unlock()
	select {
	case s.linkEnded <- struct{}{}:
	default: // one is pending
	}
}

// begin marks a link as busy with a request. It reports whether to answer it.
func (s *Service) begin(l *serviceLink) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.busy = !s.closed
	return l.busy
}

// end marks a link as idle. It reports whether to continue.
func (s *Service) end(l *serviceLink) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.busy = false
	return !s.closed
}

// serve answers the calls of one connection: one call, or any number if it is persistent.
func (s *Service) serve(l *serviceLink, persistent bool) error {
	for {
		if persistent { // it may be idle for ever; keepalive detects a dead peer
			if err := l.conn.SetDeadline(time.Time{}); err != nil {
				return err
			}
		} else if err := l.conn.SetDeadline(time.Now().Add(wire.HandshakeTimeout)); err != nil {
			return err
		}
		request, err := s.request(l.conn)
		if err != nil {
			return err
		}
		if !s.begin(l) {
			return ErrClosed
		}
		answer, ok := s.answer(request)
		if !ok {
			return ErrClosed
		}
		if err := l.conn.SetDeadline(time.Now().Add(wire.StallAfter)); err != nil {
			return err
		}
		if _, err := l.conn.Write(answer); err != nil {
			return err
		}
		if !s.end(l) || !persistent {
			return nil
		}
	}
}

// request reads the next request.
func (s *Service) request(conn net.Conn) ([]byte, error) {
	read := s.node.pending.Begin(conn, "caller of "+s.name)
	defer read.End()
	request, err := readCall(conn, int64(s.opts.MaxRequestBytes), read.Reserve)
	if err != nil {
		return nil, read.ReadError(err)
	}
	return request, nil
}

// answer runs the handler. ok is false if it was abandoned, so that no handler can block the
// node's Close.
func (s *Service) answer(request []byte) (answer []byte, ok bool) {
	done := make(chan []byte, 1)
	// owner: answer, until the call is abandoned; ends with the handler.
	go func() {
		body, err := s.handle(request)
		done <- appendAnswer(body, err)
	}()
	select {
	case answer = <-done:
		return answer, true
	case <-s.abandoned:
		return nil, false
	}
}
