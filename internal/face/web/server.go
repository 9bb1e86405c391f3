// Package web monitors and controls a recording or a playback over HTTP: a web page, the same
// commands as a JSON API, server-sent events, metrics for Prometheus and probes for supervisors.
//
// A Server answers authorized clients only; without a token it listens on loopback only. The package
// knows no program: a Backend has the state and the commands. The connections and the memory of a Server
// are bounded, and neither recording nor play waits for the Server: it is closed last, within a second.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/loglimit"
)

// Backend is the program that a Server serves.
type Backend interface {
	prometheus.Collector

	// Program returns the name of the program, with which its metrics begin.
	Program() string
	// Pages returns the files of the program's page: PROGRAM.html, the content between what the pages of
	// all programs have in common, PROGRAM.js, and files that these load.
	Pages() fs.FS
	// Routes registers the endpoints of the program.
	Routes(s *Server)
	// Poll returns the current state. Calls come one at a time.
	Poll(now time.Time) View
	// Changed returns a channel that is closed at the next change of the state.
	Changed() <-chan struct{}
}

// Server serves one Backend.
type Server struct {
	options Options
	backend Backend
	guard   guard
	conns   *listener
	poller  *poller
	metrics *prometheus.Registry
	mux     *http.ServeMux
	http    http.Server
	addr    net.Addr
	began   time.Time
	end     context.CancelFunc
	done    sync.WaitGroup
	files   chan struct{} // holds an element for each download
}

// Serve starts a server, which runs until Close.
func Serve(ctx context.Context, o Options, f Backend) (*Server, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	if o.MasterUp == nil { // nothing is wrong with a master that nobody needs
		o.MasterUp, o.Unread = func() bool { return true }, func() (now, ever string) { return "", "" }
	}
	ln, err := Listen(ctx, o.Listen)
	if err != nil {
		return nil, err
	}
	return serve(ctx, ln, o, f), nil
}

// Listen opens host:port as Serve does.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	network := "tcp"
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().Is4() {
		network = "tcp4" // for tcp, Go takes 0.0.0.0 to be [::], too: past a firewall that knows IPv4 only
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("--http %s: %w", address, err)
	}
	return ln, nil
}

// serve starts a server on a listener.
func serve(ctx context.Context, ln net.Listener, o Options, f Backend) *Server {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx)) // Close ends it; ctx is for the start
	s := &Server{
		options: o, backend: f, metrics: prometheus.NewRegistry(), mux: http.NewServeMux(), addr: ln.Addr(),
		began: time.Now(), end: cancel,
		conns: newListener(ln, o.Log), files: make(chan struct{}, maxDownloads),
	}
	s.guard = newGuard(o)
	s.poller = newPoller(f.Changed, s.collect)
	s.routes()
	live := &upgrader{view: o.Live, guard: &s.guard, conns: s.conns, log: o.Log}
	s.http = http.Server{
		Handler:           s.guard.wrap(live.wrap(s.mux)),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return life },
		ConnContext:       connContext,
		ConnState:         s.conns.track,
		// peers must not fill the log
		ErrorLog: loglimit.HTTPErrors(o.Log, "web server", zap.DebugLevel),
	}
	// owner: Close; ends when the server is closed.
	s.done.Go(func() {
		if err := s.http.Serve(s.conns); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("the web server ended", zap.Error(err))
		}
	})
	// owner: Close; ends with life.
	s.done.Go(func() { s.poller.run(life) })
	o.Log.Info("web page", zap.String("url", s.URL()), zap.Stringer("listens on", s.addr))
	return s
}

// Addr returns the address of the server.
func (s *Server) Addr() net.Addr { return s.addr }

// URL returns the address of the page for a browser on this machine.
func (s *Server) URL() string { return "http://" + LocalAddress(s.addr.String()) + "/" }

// LocalAddress returns host:port by which this machine reaches a server on host:port, which may stand for
// all addresses.
func LocalAddress(listen string) string {
	host, port, _ := net.SplitHostPort(listen)
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return listen
}

// Close stops the server. Running requests have one second to end.
func (s *Server) Close() {
	s.end()
	if s.options.Live != nil {
		s.done.Go(s.options.Live.Close) // owner: Close; ends within shutdownTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close() //nolint:errcheck,gosec // the listener is closed already
	}
	s.done.Wait()
}

// routes registers the handlers. Every request that changes something is a POST.
func (s *Server) routes() {
	s.pages()
	s.probes()
	s.Handle("GET /api/v1/state", s.getState)
	s.Handle("GET /api/v1/events", s.poller.serve)
	s.exportMetrics()
	s.mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		WriteError(w, command.Refused(command.NotFound, "no such endpoint: see docs/http.md"))
	})
	s.backend.Routes(s)
}

// envelope holds the fields that all programs have.
type envelope struct {
	Program string  `json:"program"`
	Version string  `json:"version"`
	Node    string  `json:"node"`
	Master  bool    `json:"master"` // the master answers
	Time    float64 `json:"time"`   // seconds since 1970
	Began   float64 `json:"began"`  // seconds since 1970, when the server began
	State   any     `json:"state"`

	Live *liveState `json:"live"` // null if there is no live view
}

// collect asks the program for its state.
func (s *Server) collect(now time.Time) encodedView {
	v := s.backend.Poll(now)
	b, err := json.Marshal(envelope{
		Program: s.backend.Program(), Version: s.options.Version, Node: s.options.Node,
		Master: s.options.MasterUp(),
		Time:   float64(now.UnixMilli()) / 1e3, Began: float64(s.began.UnixMilli()) / 1e3, State: v.State,
		Live: stateOf(s.options.Live, s.guard.token != ""),
	})
	if err != nil {
		panic("web: " + err.Error()) // all that is marshaled is ours
	}
	return encodedView{v, b}
}

func (s *Server) getState(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(s.poller.current().json) //nolint:errcheck,gosec // whoever has gone does not need it
}
