// Package web monitors and controls a recording or a playback over HTTP: a web page, the same
// commands as a JSON API, server-sent events, metrics for Prometheus and probes for supervisors.
//
// It serves authorized clients only: without a token it listens on loopback only. It uses
// the contracts recorder/control and player/control, never paths from clients: a bag is identified by a
// number. Its resources are bounded, and neither recording nor play waits for it: it is
// closed last, within a second.
package web

import (
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

	"github.com/gorosbag/gorosbag/internal/loglimit"
)

// Limits of requests; those of connections are in listener.go.
const (
	maxHeaderBytes  = 16 << 10
	maxBodyBytes    = 16 << 10
	headerTimeout   = 5 * time.Second
	readTimeout     = 10 * time.Second
	writeTimeout    = 15 * time.Second
	idleTimeout     = 30 * time.Second
	shutdownTimeout = time.Second // for running requests at the end
)

// actionTimeout is how long an action waits for the disk. The action is carried out even if the
// request times out.
const actionTimeout = 10 * time.Second

// Options are the options of Serve.
type Options struct {
	Listen string   // host:port; port 0 takes a free one
	Token  string   // authorizes requests; empty authorizes every client on this machine
	Hosts  []string // allowed host names, besides localhost and IP addresses

	Node     string // our name on the graph
	Version  string
	MasterUp func() bool               // whether the master answers
	Unread   func() (now, ever string) // what cannot be read of the replies of the master, see tcpros.Node.Unread
	Log      *zap.Logger
}

// Backend is the program that a Server serves. NewRecorder and NewPlayer return one.
type Backend interface {
	prometheus.Collector

	program() string
	routes(s *Server)
	// collect returns the current state. Calls come one at a time.
	collect(now time.Time) view
	// changed returns a channel that is closed at the next change of the state.
	changed() <-chan struct{}
}

// view is the state at one time.
type view struct {
	state    any    // as JSON
	health   health // without what the server adds
	notReady string // reason why the program is not ready; empty if it is
}

// Server serves one Backend.
type Server struct {
	Options
	backend Backend
	guard   guard
	conns   *listener
	poller  poller
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
func Serve(ctx context.Context, o Options, f Backend) (*Server, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("--http %s: %w", o.Listen, err)
	}
	return serve(ctx, ln, o, f), nil
}

// serve starts a server on a listener.
func serve(ctx context.Context, ln net.Listener, o Options, f Backend) *Server {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx)) // Close ends it; ctx is for the start
	s := &Server{
		Options: o, backend: f, metrics: prometheus.NewRegistry(), mux: http.NewServeMux(), addr: ln.Addr(), began: time.Now(), end: cancel,
		conns: newListener(ln, o.Log), files: make(chan struct{}, maxDownloads),
	}
	s.guard = newGuard(o)
	s.poller.init(s)
	s.routes()
	s.http = http.Server{
		Handler:           s.guard.wrap(s.mux),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return life },
		ConnContext:       connContext,
		ConnState:         s.conns.track,
		ErrorLog:          loglimit.HTTPErrors(o.Log, "web server", zap.DebugLevel), // peers must not fill the log
	}
	// owner: Close; ends when the server is closed.
	s.done.Go(func() {
		if err := s.http.Serve(s.conns); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("the web server ended", zap.Error(err))
		}
	})
	// owner: Close; ends with life.
	s.done.Go(func() { s.poller.run(life) })
	o.Log.Info("web page", zap.String("url", "http://"+s.addr.String()+"/"))
	return s
}

// Addr returns the address of the server.
func (s *Server) Addr() net.Addr { return s.addr }

// Close stops the server. Running requests have one second to end.
func (s *Server) Close() {
	s.end()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close() //nolint:errcheck,gosec // the listener is closed already
	}
	s.done.Wait()
}

// check refuses options that would expose the server without a token.
func (o *Options) check(ctx context.Context) error {
	if err := CheckToken(o.Token); err != nil {
		return fmt.Errorf("--http-token: %w", err)
	}
	if err := CheckListen(ctx, o.Listen, o.Token != ""); err != nil {
		return fmt.Errorf("--http %q: %w", o.Listen, err)
	}
	return nil
}

// CheckToken returns why a token cannot be used, without the token itself. Empty means no token.
func CheckToken(token string) error {
	if token != "" && len(token) < minTokenBytes {
		return fmt.Errorf("the token has %d characters: give it at least %d, such as from openssl rand -hex 16", len(token), minTokenBytes)
	}
	return nil
}

// CheckListen returns why a server may not listen on host:port, without the address itself. A host
// name is looked up if there is no token.
func CheckListen(ctx context.Context, listen string, hasToken bool) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return errors.New("want HOST:PORT, such as 127.0.0.1:8765")
	}
	if hasToken {
		return nil
	}
	local, err := onLoopback(ctx, host)
	if err == nil && !local {
		err = errors.New("it could be reached by others: set --http-token, --http-token-file or the variable for it, or listen on 127.0.0.1")
	}
	return err
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
	ctx, cancel := context.WithTimeout(ctx, headerTimeout)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return false, fmt.Errorf("the address of %q is not found (%s): want a name that this machine knows, or an address such as 127.0.0.1", host, dns.Err)
	} else if err != nil {
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
	s.handle("GET /api/v1/events", s.poller.serve)
	s.exportMetrics()
	s.mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, &statusError{http.StatusNotFound, "no such endpoint: see docs/http.md"})
	})
	s.backend.routes(s)
}
