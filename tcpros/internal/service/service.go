// Package service is both sides of services: the services that the node provides, with the
// connections of their clients, and calls of services of other nodes. A service's lock guards its
// list of connections and is not held while a handler runs. Package tcpros calls it; nothing else
// does.
package service

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

const (
	maxServiceLinks = 64 // connections to one service; a new connection replaces the oldest idle connection
)

// Type is the type of a service.
type Type struct {
	Type         string // such as std_srvs/Trigger
	MD5Sum       string
	RequestType  string // empty means Type and "Request"
	ResponseType string // empty means Type and "Response"
}

// Handler answers one call. request and response are serialized, without their length; an error is sent
// to the client as the service's refusal. Calls of several clients run concurrently, each in a goroutine
// of its own. ctx ends a grace period after the service is closed.
type Handler func(ctx context.Context, request []byte) (response []byte, err error)

// Env is the node as its services and calls see it. No field changes while the node lives.
type Env struct {
	CallerID  string // the node's name
	Log       *zap.Logger
	Master    *rosapi.Master
	Dialer    *endpoint.Dialer
	Pending   *wire.Pending
	KeepAlive func() bool // whether connections are probed now
	Timing    Timing
}

// Timing has the intervals of services.
type Timing struct {
	// time for running calls to end when a service is closed, and again after their context is canceled
	Grace time.Duration
}

// DefaultTiming returns the intervals of every node outside tests.
func DefaultTiming() Timing { return Timing{Grace: time.Second} }

// Options describe a service; ServiceOptions explains each field.
type Options struct {
	Type            Type
	MaxRequestBytes int
	Handle          Handler
}

// Service is one advertised service with its clients.
type Service struct {
	env            *Env
	opts           Options
	name           string
	handle         func(request []byte) ([]byte, error) // runs under the service's context
	cancelHandlers context.CancelFunc                   // cancels that context

	abandoned chan struct{} // closed when running calls are abandoned
	linkEnded chan struct{} // has a token after a link has ended

	mu     sync.Mutex
	closed bool
	links  []*serviceLink // oldest first
}

// serviceLink is the connection of one client.
type serviceLink struct {
	conn net.Conn
	busy bool // a request is being answered; guarded by the service's mu
}

// New returns a service. name is the resolved name; ctx is the context of its handlers, and
// cancelHandlers ends ctx.
func New(env *Env, name string, o Options, ctx context.Context, cancelHandlers context.CancelFunc) *Service { //nolint:revive // the context is the handlers'
	return &Service{
		env: env, opts: o, name: name, cancelHandlers: cancelHandlers, abandoned: make(chan struct{}),
		linkEnded: make(chan struct{}, 1),
		handle:    func(request []byte) ([]byte, error) { return o.Handle(ctx, request) },
	}
}

// Name returns the resolved name.
func (s *Service) Name() string { return s.name }

// Type returns the type of the service.
func (s *Service) Type() Type { return s.opts.Type }

// Stop closes every link and waits for running calls, until ctx ends.
func (s *Service) Stop(ctx context.Context) {
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
	grace := s.env.Timing.Grace
	if !s.waitNoLinks(ctx, grace) {
		s.cancelHandlers()
		if !s.waitNoLinks(ctx, grace) {
			s.env.Log.Warn("a service call does not end: given up", zap.String("service", s.name))
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
		{Key: "callerid", Value: s.env.CallerID},
		{Key: "md5sum", Value: t.MD5Sum},
		{Key: "request_type", Value: t.RequestType},
		{Key: "response_type", Value: t.ResponseType},
		{Key: "type", Value: t.Type},
	}
}

// Serve answers the calls of a client whose header is h, or returns the reason to refuse the
// client. The memory of the header is charged to read.
func (s *Service) Serve(conn net.Conn, h wire.Header, read *wire.PendingRead) (refusal string) {
	l := &serviceLink{conn: conn}
	if text := s.add(l); text != "" {
		return text
	}
	defer s.remove(l)
	if _, err := conn.Write(wire.AppendHeader(nil, s.header())); err != nil || h.Value("probe") == "1" {
		return ""
	}
	caller, persistent := names.Clip(h.Value("callerid")), h.Value("persistent") == "1" ||
		strings.EqualFold(h.Value("persistent"), "true")
	read.End() // h is no longer used, and the connection may last long
	err := s.serve(l, persistent)
	s.env.Log.Debug("service client left", zap.String("service", s.name), zap.String("callerid", caller),
		zap.Error(err))
	return ""
}

// add adds a link. If there are more than maxServiceLinks, add closes the oldest idle link, so that
// idle clients cannot lock others out.
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
	default: // a token is pending
	}
}

// begin marks a link as busy with a request, and reports whether to answer the request.
func (s *Service) begin(l *serviceLink) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.busy = !s.closed
	return l.busy
}

// end marks a link as idle, and reports whether to read its next request.
func (s *Service) end(l *serviceLink) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.busy = false
	return !s.closed
}

// serve answers the calls of one connection: one call, or any number if the connection is
// persistent.
func (s *Service) serve(l *serviceLink, persistent bool) error {
	for {
		if persistent { // a persistent client may be idle forever; keepalive detects a dead peer
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
			return wire.ErrClosed
		}
		reply, ok := s.reply(request)
		if !ok {
			return wire.ErrClosed
		}
		if err := l.conn.SetDeadline(time.Now().Add(wire.StallAfter)); err != nil {
			return err
		}
		if _, err := l.conn.Write(reply); err != nil {
			return err
		}
		if !s.end(l) || !persistent {
			return nil
		}
	}
}

// request reads the next request.
func (s *Service) request(conn net.Conn) ([]byte, error) {
	read := s.env.Pending.Begin(conn, "caller of "+s.name)
	defer read.End()
	request, err := readCall(conn, int64(s.opts.MaxRequestBytes), read.Reserve)
	if err != nil {
		return nil, read.ReadError(err)
	}
	return request, nil
}

// reply runs the handler and returns its serialized result. ok is false if the call was abandoned, so
// that no handler can block the node's Close.
func (s *Service) reply(request []byte) (reply []byte, ok bool) {
	done := make(chan []byte, 1)
	// owner: reply, until the call is abandoned; ends with the handler.
	go func() {
		body, err := s.handle(request)
		done <- appendReply(body, err)
	}()
	select {
	case reply = <-done:
		return reply, true
	case <-s.abandoned:
		return nil, false
	}
}
