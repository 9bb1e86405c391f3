// Package web shows and steers a recording or a playback over HTTP: a page for people,
// the same verbs as JSON for programs, events for live numbers, metrics for Prometheus
// and probes for supervisors.
//
// It serves authorized clients only: without a token it listens on loopback only. It uses
// recorder.Control and player.Control, never paths from clients: a bag is identified by a
// number. Its resources are bounded, and neither recording nor play waits for it: it is
// closed last, within a second.
package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// Limits of requests; those of connections are in listener.go.
const (
	maxHeaderBytes = 16 << 10
	maxBodyBytes   = 16 << 10
	headerTime     = 5 * time.Second
	readTime       = 10 * time.Second
	writeTime      = 15 * time.Second
	idleTime       = 30 * time.Second
	shutdownTime   = time.Second // for running requests at the end
)

// actionTime is how long an action waits for the disk. The action is carried out even if the
// request times out.
const actionTime = 10 * time.Second

// Options say where to serve, and to whom.
type Options struct {
	Listen string   // host:port; port 0 takes a free one
	Token  string   // authorizes requests; empty authorizes every client on this machine
	Hosts  []string // names by which the server is called, beside localhost and addresses

	Node     string // our name on the graph
	Version  string
	MasterUp func() bool // whether the master answers
	Log      *zap.Logger
}

// Face is the program that a Server serves: NewRecorder and NewPlayer return one.
type Face interface {
	prometheus.Collector

	program() string
	routes(s *Server)
	// look returns the present state. Calls come one at a time.
	look(now time.Time) view
	// changed returns a channel that is closed at the next change of the state.
	changed() <-chan struct{}
}

// view is the state at one time.
type view struct {
	state  any    // as JSON
	health health // without what the server adds
	unripe string // why the program is not ready; empty when it is
}

// Server serves one Face.
type Server struct {
	Options
	face    Face
	guard   guard
	conns   *listener
	watch   watch
	metrics *prometheus.Registry
	mux     *http.ServeMux
	http    http.Server
	addr    net.Addr
	began   time.Time
	end     context.CancelFunc
	done    sync.WaitGroup
	files   chan struct{} // holds a token for each download
}

// Serve starts a server, which runs until Close.
func Serve(ctx context.Context, o Options, f Face) (*Server, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("web: --http %s: %w", o.Listen, err)
	}
	return serve(ctx, ln, o, f), nil
}

// serve starts a server on a listener.
func serve(ctx context.Context, ln net.Listener, o Options, f Face) *Server {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx)) // Close ends it; ctx is for the start
	s := &Server{
		Options: o, face: f, metrics: prometheus.NewRegistry(), mux: http.NewServeMux(), addr: ln.Addr(), began: time.Now(), end: cancel,
		conns: newListener(ln, o.Log), files: make(chan struct{}, maxDownloads),
	}
	s.guard = newGuard(o)
	s.watch.init(s)
	s.routes()
	s.http = http.Server{
		Handler:           s.guard.wrap(s.mux),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      writeTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return life },
		ConnContext:       connContext,
		ConnState:         s.conns.track,
		ErrorLog:          zap.NewStdLog(o.Log),
	}
	s.http.ErrorLog.SetFlags(0)
	s.http.ErrorLog.SetOutput(complaints{o.Log})
	// owner: Close; ends when the server is closed.
	s.done.Go(func() {
		if err := s.http.Serve(s.conns); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("the web server ended", zap.Error(err))
		}
	})
	// owner: Close; ends with life.
	s.done.Go(func() { s.watch.run(life) })
	o.Log.Info("web page", zap.String("url", "http://"+s.addr.String()+"/"))
	return s
}

// Addr returns the address of the server.
func (s *Server) Addr() net.Addr { return s.addr }

// Close stops the server. Running requests have one second to end.
func (s *Server) Close() {
	s.end()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close() //nolint:errcheck,gosec // the listener is closed already
	}
	s.done.Wait()
}

// check refuses options that would expose the server without a token.
func (o *Options) check(ctx context.Context) error {
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return fmt.Errorf("web: --http %s: want HOST:PORT, such as 127.0.0.1:8765", o.Listen)
	}
	if o.Token != "" && len(o.Token) < leastToken {
		return fmt.Errorf("web: the token has %d characters: give it at least %d, such as from openssl rand -hex 16", len(o.Token), leastToken)
	}
	if o.Token != "" {
		return nil
	}
	local, err := onLoopback(ctx, host)
	if err != nil {
		return fmt.Errorf("web: --http %s: %w", o.Listen, err)
	}
	if !local {
		return fmt.Errorf("web: --http %s could be reached by others: set --http-token, --http-token-file or the variable for it, or listen on 127.0.0.1", o.Listen)
	}
	return nil
}

// onLoopback reports whether all addresses of a host are on loopback. No host stands for
// all addresses.
func onLoopback(ctx context.Context, host string) (bool, error) {
	if host == "" {
		return false, nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, headerTime)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false, err
	}
	for _, ip := range ips {
		if !ip.Unmap().IsLoopback() {
			return false, nil
		}
	}
	return true, nil
}

// routes registers the handlers. Every request that changes something is a POST.
func (s *Server) routes() {
	s.pages()
	s.probes()
	s.handle("GET /api/v1/state", s.getState)
	s.handle("GET /api/v1/events", s.watch.serve)
	s.exportMetrics()
	s.mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, &statusError{http.StatusNotFound, "no such endpoint: see docs/http.md"})
	})
	s.face.routes(s)
}

// complaints receives the log of net/http. net/http recovers from panics in handlers and logs
// them: a panic must not end a recording.
type complaints struct{ log *zap.Logger }

// Write implements io.Writer.
func (c complaints) Write(b []byte) (int, error) {
	say := c.log.Debug // peers must not fill the log
	if bytes.HasPrefix(b, []byte("http: panic")) {
		say = c.log.Error
	}
	say("web server", zap.ByteString("says", bytes.TrimSpace(b)))
	return len(b), nil
}
