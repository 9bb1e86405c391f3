package xmlrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
)

// Handler answers one call with a value or an *Answer. peer is the caller's host:port. The server
// sends a *Fault unchanged, and any other error as a fault with code 1. ctx ends with the caller's
// connection and with the server.
type Handler func(ctx context.Context, peer, method string, args []any) (any, error)

// Answer is an answer that its Handler has encoded, to bound the memory of large answers.
type Answer struct {
	Body []byte // from AppendResponse; the server does not change it

	// Begin is called once, before Body is written. From then on abort closes the
	// connection. The server calls end when it no longer needs Body.
	Begin func(abort func()) (end func())
}

// ServerOptions configures a Server.
type ServerOptions struct {
	Limits  Limits        // limits of requests
	Conns   int           // most open connections; zero means 64
	Timeout time.Duration // to receive a request, and to answer it; zero means 10 s
	Log     *zap.Logger   // problems that no caller learns of, such as a failing accept; nil logs nothing
}

const (
	defaultConns   = 64
	defaultTimeout = 10 * time.Second
	headerTimeout  = 5 * time.Second
	idleTimeout    = 30 * time.Second
	headerBytes    = 64 << 10

	smallBody = 128 << 10 // bytes of a body that is read at once: calls of nodes have some hundred bytes
	bigBodies = 2         // larger bodies in memory at the same time; further bodies wait

	// time without a byte of a larger body after which the server gives the call up.
	stallTimeout = 5 * time.Second
)

// Server serves XML-RPC over HTTP on any path. Peers may be hostile: ServerOptions has the bounds.
type Server struct {
	handler Handler
	limits  Limits
	timeout time.Duration
	stall   time.Duration
	http    http.Server
	conns   connTable
	big     chan struct{} // has one token for each body over smallBody in memory
}

// NewServer returns a server that is not yet serving.
func NewServer(h Handler, o ServerOptions) *Server {
	if o.Conns <= 0 {
		o.Conns = defaultConns
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	s := &Server{
		handler: h, limits: o.Limits.withDefaults(), timeout: o.Timeout, stall: stallTimeout,
		big: make(chan struct{}, bigBodies),
	}
	s.conns.max = o.Conns
	// A web page must not reach us through its reader's browser.
	guard := http.NewCrossOriginProtection()
	s.http = http.Server{
		Handler:           guard.Handler(http.HandlerFunc(s.serveHTTP)),
		ReadHeaderTimeout: min(headerTimeout, o.Timeout),
		ReadTimeout:       o.Timeout,
		WriteTimeout:      o.Timeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes,
		ConnState:         s.conns.track,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			limitSendBuffer(c)
			return context.WithValue(ctx, connKey{}, c)
		},
		ErrorLog: loglimit.HTTPErrors(o.Log, "XML-RPC server", zap.WarnLevel),
	}
	return s
}

// Serve answers calls that come in over l until Close or Shutdown, which also
// close l, and then returns nil. It may be called for several listeners.
func (s *Server) Serve(l net.Listener) error {
	s.conns.add(1)
	defer s.conns.add(-1)
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %v: %w", l.Addr(), err)
	}
	return nil
}

// Shutdown stops accepting, waits for calls in progress until ctx is done, then closes the server.
// A handler must not call it.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	return err
}

// Close closes all listeners and connections and waits until Serve has returned
// and every connection's goroutine has ended. A handler must not call it.
func (s *Server) Close() error {
	s.conns.refuse()
	err := s.http.Close()
	s.conns.wait()
	return err
}

// connKey is the context key of a request's net.Conn.
type connKey struct{}

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	end := time.Now().Add(s.timeout) // of the body
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "XML-RPC needs POST", http.StatusMethodNotAllowed)
		return
	}
	limit := s.limits.BodyBytes
	if r.ContentLength > limit {
		limit = 0 // the announced length is too large: fail at the first byte
	}
	limited := http.MaxBytesReader(w, r.Body, limit)
	body, err := readAll(nil, io.LimitReader(limited, smallBody), r.ContentLength)
	if err == nil && len(body) == smallBody {
		select {
		case s.big <- struct{}{}:
			defer func() { <-s.big }()
		case <-r.Context().Done():
			return
		}
		c := http.NewResponseController(w)
		body, err = readAll(body, &stallReader{limited, c, s.stall, end}, r.ContentLength)
		_ = c.SetReadDeadline(end) // net/http continues to read, to detect that the caller disconnects
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		http.Error(w, "request body too large", http.StatusRequestEntityTooLarge)
		return
	} else if err != nil {
		http.Error(w, "request body incomplete", http.StatusBadRequest)
		return
	}
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	s.conns.busy(conn)
	answer := s.answer(r.Context(), r.RemoteAddr, body)
	if answer.Begin != nil {
		defer answer.Begin(func() { _ = conn.Close() })()
	}
	w.Header().Set("Content-Type", "text/xml")
	// roscpp does not understand chunked transfer.
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
	_, _ = w.Write(answer.Body) //nolint:gosec // text/xml, and escaped; if the caller is gone there is nobody to tell
}

// stallReader reads until end, and gives up when no byte arrives for the time of stall: other
// callers wait for the token of this body.
type stallReader struct {
	r     io.Reader
	c     *http.ResponseController
	stall time.Duration
	end   time.Time
}

// Read implements io.Reader.
func (s *stallReader) Read(p []byte) (int, error) {
	at := time.Now().Add(s.stall)
	if at.After(s.end) {
		at = s.end
	}
	if err := s.c.SetReadDeadline(at); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// readAll appends all bytes of r to body. The memory doubles as bytes arrive, up to the length that
// the peer announced, if it announced one.
func readAll(body []byte, r io.Reader, announced int64) ([]byte, error) {
	for {
		if len(body) == cap(body) {
			more := int64(max(len(body), 4096))
			if left := announced + 1 - int64(len(body)); left > 0 { // one byte more, to detect the end
				more = min(more, left)
			}
			body = append(make([]byte, 0, int64(len(body))+more), body...)
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		} else if err != nil {
			return body, err
		}
	}
}

func (s *Server) answer(ctx context.Context, peer string, body []byte) *Answer {
	method, args, err := ParseRequest(body, s.limits)
	if err == nil {
		var v any
		if v, err = s.handler(ctx, peer, method, args); err == nil {
			if a, ok := v.(*Answer); ok {
				return a
			}
			var b []byte
			if b, err = AppendResponse(nil, v); err == nil {
				return &Answer{Body: b}
			}
		}
	}
	f := new(Fault)
	if !errors.As(err, &f) {
		f = &Fault{Code: 1, Text: err.Error()}
	}
	return &Answer{Body: AppendFault(nil, f)}
}

// connTable limits connections. At the limit, a new connection replaces the connection whose peer
// has owed a request, or the rest of a request, for longest. So neither idle connections nor
// endless requests can shut others out. A connection is not replaced between a complete body and
// the written answer; if this applies to all connections, the new one is closed.
type connTable struct {
	max int

	mu sync.Mutex
	// when it last opened, began a request or got an answer; zero from body to answer
	conns map[net.Conn]time.Time
	// refuse connections that are accepted from now on
	closed bool
	// calls of Serve and goroutines of connections
	alive int
	// closed when alive falls to zero; nil if nobody waits
	ended chan struct{}
}

// add changes the number of goroutines that wait has to wait for.
func (t *connTable) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addLocked(n)
}

func (t *connTable) addLocked(n int) {
	if t.alive += n; t.alive == 0 && t.ended != nil {
		close(t.ended)
		t.ended = nil
	}
}

func (t *connTable) refuse() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

func (t *connTable) wait() {
	t.mu.Lock()
	if t.alive == 0 {
		t.mu.Unlock()
		return
	}
	if t.ended == nil {
		t.ended = make(chan struct{})
	}
	ended := t.ended
	t.mu.Unlock()
	<-ended
}

// track is the ConnState hook of net/http.
func (t *connTable) track(c net.Conn, state http.ConnState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch state {
	case http.StateNew:
		t.addLocked(1)
		if t.conns == nil {
			t.conns = map[net.Conn]time.Time{}
		}
		// net/http forgets to close a connection accepted while it is being closed.
		if t.closed || len(t.conns) >= t.max && !t.evict() {
			_ = c.Close()
		}
		t.conns[c] = time.Now()
	case http.StateActive, http.StateIdle:
		if _, ok := t.conns[c]; ok { // not evicted meanwhile
			t.conns[c] = time.Now()
		}
	case http.StateClosed, http.StateHijacked:
		delete(t.conns, c)
		t.addLocked(-1)
	}
}

// busy protects c from eviction until its answer is written.
func (t *connTable) busy(c net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.conns[c]; ok {
		t.conns[c] = time.Time{}
	}
}

// evict closes the connection with the earliest time in conns, if any can be closed.
func (t *connTable) evict() bool {
	var oldest net.Conn
	var since time.Time
	for c, at := range t.conns {
		if !at.IsZero() && (oldest == nil || at.Before(since)) {
			oldest, since = c, at
		}
	}
	if oldest == nil {
		return false
	}
	_ = oldest.Close()
	delete(t.conns, oldest) // its StateClosed may come later than the next StateNew
	return true
}
