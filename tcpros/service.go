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
)

const (
	maxServiceLinks   = 64          // connections to one service; the oldest that waits gives way
	defaultMaxRequest = 1 << 20     // bytes of one request
	serviceGrace      = time.Second // for calls under way when a service ends, and again once they are told to hurry
)

// ServiceType names what a service takes and gives.
type ServiceType struct {
	Type         string // such as std_srvs/Trigger
	MD5Sum       string
	RequestType  string // empty means Type and "Request"
	ResponseType string // empty means Type and "Response"
}

// ServiceHandler answers one call. request is the serialized request, answer the
// serialized response, both without their length; an error is told to the caller as
// the service's refusal. Calls of several clients come at the same time, each on a
// goroutine of its own. ctx ends when the service does and the answer is late.
type ServiceHandler func(ctx context.Context, request []byte) (answer []byte, err error)

// ServiceOptions say what is offered and who answers.
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
	case o.MaxRequestBytes < 0 || o.MaxRequestBytes > hardMaxMessage:
		return o, fmt.Errorf("tcpros: request limit of %d bytes: not in 1..%d", o.MaxRequestBytes, hardMaxMessage)
	case o.Type.Type == "" || o.Type.Type == anyType || o.Type.MD5Sum == "" || o.Type.MD5Sum == AnyMD5:
		return o, fmt.Errorf("tcpros: service %q of type %q, md5sum %q: a service needs definite ones", o.Name, o.Type.Type, o.Type.MD5Sum)
	}
	return o, checkType(o.Type.Type)
}

// Service offers one service to all its callers.
type Service struct {
	node   *Node
	opts   ServiceOptions
	name   string
	handle func(request []byte) ([]byte, error) // under the service's context
	hurry  context.CancelFunc                   // of that context

	gone chan struct{} // closed when calls that still run are given up
	left chan struct{} // a link has ended since the service is closed

	mu     sync.Mutex
	closed bool
	links  []*serviceLink // oldest first
}

// serviceLink is the connection of one caller.
type serviceLink struct {
	conn net.Conn
	busy bool // with the service's mu: a request is being answered
}

// AdvertiseService starts to offer a service. Registration happens in the
// background and is repeated for ever. A node offers a service once.
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
	s := &Service{node: n, opts: o, name: name, gone: make(chan struct{}), left: make(chan struct{}, 1)}
	ctx, cancel := n.child()
	s.handle = func(request []byte) ([]byte, error) { return o.Handle(ctx, request) }
	s.hurry = cancel
	n.services[name] = s
	n.reg.want(regKey{regService, name}, "", nil)
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
		n.reg.forget(regKey{regService, s.name})
	}
}

// Name returns the resolved name.
func (s *Service) Name() string { return s.name }

// Close ends the service. Calls under way have a second to end, then a second more
// with their context ended; the goroutine of a handler that returns even later is
// given up. A handler must not call it. Unregistering is left to the node.
func (s *Service) Close() {
	s.node.dropService(s)
	s.shut(context.Background())
}

// shut ends every link and waits for the calls under way, while ctx lasts.
func (s *Service) shut(ctx context.Context) {
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
	if !s.emptied(ctx, serviceGrace) {
		s.hurry()
		if !s.emptied(ctx, serviceGrace) {
			s.node.log.Warn("a service call does not end: given up", zap.String("service", s.name))
		}
	}
	close(s.gone)
	s.hurry()
	s.mu.Lock()
	for _, l := range s.links {
		_ = l.conn.Close()
	}
	s.mu.Unlock()
	s.emptied(context.WithoutCancel(ctx), serviceGrace) // what is left has only to notice
}

// emptied waits until there are no links, and reports whether there are none.
func (s *Service) emptied(ctx context.Context, most time.Duration) bool {
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
		case <-s.left:
		case <-ctx.Done():
			return false
		}
	}
}

// header is the reply to a caller that is accepted.
func (s *Service) header() Header {
	t := s.opts.Type
	return Header{
		{Key: "callerid", Value: s.node.name},
		{Key: "md5sum", Value: t.MD5Sum},
		{Key: "request_type", Value: t.RequestType},
		{Key: "response_type", Value: t.ResponseType},
		{Key: "type", Value: t.Type},
	}
}

// matchService finds the service that a caller asks for, or the text to refuse it
// with; the texts are stock's.
func (s *tcprosServer) matchService(conn net.Conn, h Header) (*Service, string) {
	for _, key := range []string{"md5sum", "service", "callerid"} {
		if h.get(key) == "" {
			return nil, "bogus tcpros header. did not have the required elements: md5sum, service, callerid"
		}
	}
	name, md5 := cleanName(h.get("service")), h.get("md5sum")
	service := s.node.service(name)
	if service == nil {
		return nil, fmt.Sprintf("received a tcpros connection for a nonexistent service [%s] from [%s].", name, linkName(conn))
	}
	if want := service.opts.Type.MD5Sum; md5 != AnyMD5 && !strings.EqualFold(md5, want) {
		return nil, fmt.Sprintf("client wants service %s to have md5sum %s, but it has %s. Dropping connection.", name, md5, want)
	}
	return service, ""
}

// handleService is one connection of a caller, from behind its header to its end.
func (s *tcprosServer) handleService(conn net.Conn, h Header) {
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
	if _, err := conn.Write(AppendHeader(nil, service.header())); err != nil || h.get("probe") == "1" {
		return
	}
	s.settled(conn)
	err := service.serve(l, h.get("persistent") == "1" || strings.EqualFold(h.get("persistent"), "true"))
	s.node.log.Debug("service client left", zap.String("service", service.name),
		zap.String("callerid", clip(h.get("callerid"))), zap.Error(err))
}

// add counts a link. When there are too many the oldest that waits for its caller
// gives way: silent ones must not shut others out.
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
	case s.left <- struct{}{}:
	default: // one is pending
	}
}

// begin marks a link whose request has come. It reports whether to answer.
func (s *Service) begin(l *serviceLink) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.busy = !s.closed
	return l.busy
}

// end marks a link that waits for its caller. It reports whether to go on.
func (s *Service) end(l *serviceLink) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.busy = false
	return !s.closed
}

// serve answers the calls of one connection: one, or one after the other if it is
// persistent.
func (s *Service) serve(l *serviceLink, persistent bool) error {
	for {
		if persistent { // it may rest for ever; keepalive finds a dead peer
			if err := l.conn.SetDeadline(time.Time{}); err != nil {
				return err
			}
		} else if err := l.conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
			return err
		}
		request, err := readCall(l.conn, int64(s.opts.MaxRequestBytes))
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
		if err := l.conn.SetDeadline(time.Now().Add(stallAfter)); err != nil {
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

// answer runs the handler. ok is false when it was given up: no handler can hold up
// the node's end.
func (s *Service) answer(request []byte) (answer []byte, ok bool) {
	done := make(chan []byte, 1)
	// owner: answer, or nobody once the service has ended without it; ends with the handler.
	go func() {
		body, err := s.handle(request)
		done <- appendAnswer(body, err)
	}()
	select {
	case answer = <-done:
		return answer, true
	case <-s.gone:
		return nil, false
	}
}
