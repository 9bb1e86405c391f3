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

// Handler answers one call with a value or an *Answer. peer is the caller's host:port. A
// *Fault is sent as it is, any other error as a fault with code 1. ctx ends with the caller's
// connection and with the server.
type Handler func(ctx context.Context, peer, method string, args []any) (any, error)

// Answer is an answer that its Handler has encoded, to bound the memory of large ones.
type Answer struct {
	Body []byte // from AppendResponse; not changed

	// Begin is called once, before Body is written. From then on abort closes the
	// connection. The server calls end when it no longer needs Body.
	Begin func(abort func()) (end func())
}

// ServerOptions configures a Server.
type ServerOptions struct {
	Limits  Limits        // of requests
	Conns   int           // open connections; zero means 64
	Timeout time.Duration // to receive a request, and to answer it; zero means 10 s
	Log     *zap.Logger   // trouble that no caller hears of, such as a failing accept; nil discards it
}

const (
	defaultConns   = 64
	defaultTimeout = 10 * time.Second
	headerTimeout  = 5 * time.Second
	idleTimeout    = 30 * time.Second
	headerBytes    = 64 << 10

	smallBody = 128 << 10 // a body up to this size is read at once: calls of nodes have some hundred bytes
	bigBodies = 2         // larger ones are in memory at the same time; further ones wait

	stallTimeout = 5 * time.Second // of a larger body, without a byte of it
)

// Server serves XML-RPC over HTTP on any path. It is ready for hostile peers:
// see ServerOptions for what it bounds.
type Server struct {
	handler Handler
	limits  Limits
	timeout time.Duration
	stall   time.Duration
	http    http.Server
	conns   connTable
	big     chan struct{} // holds one token for each body over smallBody in memory
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
	s := &Server{handler: h, limits: o.Limits.withDefaults(), timeout: o.Timeout, stall: stallTimeout, big: make(chan struct{}, bigBodies)}
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

// Shutdown stops accepting, waits for calls under way until ctx is done, then
// closes. A handler must not call it.
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
		limit = 0 // announced too large: fail at its first byte
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
		_ = c.SetReadDeadline(end) // net/http goes on reading, to see the caller leave
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

// stallReader reads until end, and gives up when nothing comes for the time of stall:
// others wait for the token that its reader holds.
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

// readAll appends what r holds to body. Memory doubles with what arrives, but stops
// at the length that the peer announced, if it did.
func readAll(body []byte, r io.Reader, announced int64) ([]byte, error) {
	for {
		if len(body) == cap(body) {
			more := int64(max(len(body), 4096))
			if left := announced + 1 - int64(len(body)); left > 0 { // one byte on top, to see the end
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

// connTable counts connections. At the limit a new one replaces the one that has
// owed something longest: a request, or the rest of one. So neither idle connections
// nor those that never finish asking can shut others out. Only from a complete body
// to the written answer is a connection safe; if all are, the new one is closed.
type connTable struct {
	max int

	mu     sync.Mutex
	conns  map[net.Conn]time.Time // when it last opened, began a request or got an answer; zero from body to answer
	closed bool                   // refuse what is accepted from now on
	alive  int                    // calls of Serve and goroutines of connections
	ended  chan struct{}          // closed when alive falls to zero; nil if nobody waits
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

// busy keeps c from being evicted until its answer is written.
func (t *connTable) busy(c net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.conns[c]; ok {
		t.conns[c] = time.Time{}
	}
}

// evict closes the connection that is oldest in this sense, if any.
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
