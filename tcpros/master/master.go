package master

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/master/internal/outgoing"
)

// DefaultPort is the port on which nodes expect a ROS master.
const DefaultPort = 11311

// The parameters that roscore of ROS Noetic sets, newlines included.
const (
	rosVersion = "1.15.15\n"
	rosDistro  = "noetic\n"
)

// Options configures a Master. The zero value serves this machine on port 11311.
type Options struct {
	// Listen is the host:port to serve on; port 0 means any free port, an empty
	// host all interfaces. Empty means 127.0.0.1:11311.
	Listen string
	// AlsoListen are further hosts to serve on, with the same port.
	AlsoListen []string
	// URIHost is the host in URI; empty means the host of Listen.
	URIHost string
	// OnShutdown is called, in the goroutine of the call, when a node asks the
	// master to shut down; it must not wait for Close. nil refuses such calls.
	OnShutdown func(caller, reason, peer string)
	// Log gets one line per event; nil logs nothing.
	Log *zap.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.Listen == "" {
		o.Listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(DefaultPort))
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return o, fmt.Errorf("listen address %q: %w", o.Listen, err)
	}
	if o.URIHost == "" {
		if o.URIHost = host; host == "" || net.ParseIP(host).IsUnspecified() {
			o.URIHost = "localhost"
		}
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	o.Log = loglimit.Logger(o.Log)
	return o, nil
}

// Master is a running master. It is safe for concurrent use.
type Master struct {
	addr    net.Addr
	methods map[string]method
	server  *xmlrpc.Server
	answers *outgoing.Budget
	state   *state
	wg      sync.WaitGroup
	failed  chan error // one error of each listener at most
}

// New starts a master, which serves until Close. ctx bounds only the start.
func New(ctx context.Context, o Options) (*Master, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	listeners, err := listen(ctx, o.Listen, o.AlsoListen)
	if err != nil {
		return nil, err
	}
	m := &Master{
		addr:    listeners[0].Addr(),
		methods: methods(),
		answers: outgoing.New(),
		failed:  make(chan error, len(listeners)),
		state: newState("http://"+net.JoinHostPort(o.URIHost, strconv.Itoa(port(listeners[0])))+"/",
			o.OnShutdown, o.Log),
	}
	for key, v := range map[string]any{
		"/run_id": newRunID(time.Now()), "/rosversion": rosVersion,
		"/rosdistro": rosDistro,
	} {
		if err := m.state.params.set(key, v); err != nil {
			panic("master: " + err.Error()) // constant values of legal size
		}
	}
	m.server = xmlrpc.NewServer(m.handle, xmlrpc.ServerOptions{
		Limits: xmlrpc.Limits{
			BodyBytes: maxRequestBytes, Depth: maxParamDepth + multicallDepth,
			Values: maxRequestValues,
		},
		Conns:   maxConns,
		Timeout: requestTimeout,
		Log:     o.Log,
	})
	for _, l := range listeners {
		// owner: Close; ends when the server is closed.
		m.wg.Go(func() {
			if err := m.server.Serve(l); err != nil {
				m.failed <- err
			}
		})
	}
	return m, nil
}

const (
	multicallDepth = 4 // nesting that system.multicall wraps around a value
	closeGrace     = 100 * time.Millisecond
	requestTimeout = 60 * time.Second // large parameters need long over slow networks
)

// URI returns the address for ROS_MASTER_URI of nodes.
func (m *Master) URI() string { return m.state.uri }

// Addr returns the address of the first listener.
func (m *Master) Addr() net.Addr { return m.addr }

// Failed delivers an error if the master can no longer accept connections on one
// of its addresses. Close is still due.
func (m *Master) Failed() <-chan error { return m.failed }

// Close stops the master. Calls in progress get a moment to be answered. When Close returns,
// everything that New started has ended. Nodes are not notified.
func (m *Master) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	err := m.server.Shutdown(ctx)
	m.state.notify.Close()
	m.wg.Wait()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func port(l net.Listener) int {
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// listen opens first, and then the same port on each further host. A port that is free on one
// address may be in use on another, so listen makes several attempts.
func listen(ctx context.Context, first string, also []string) ([]net.Listener, error) {
	const attempts = 8
	_, wanted, _ := net.SplitHostPort(first)
	for i := 1; ; i++ {
		all, err := listenOnce(ctx, first, also)
		if err == nil || wanted != "0" || len(also) == 0 || i == attempts {
			return all, err
		}
	}
}

func listenOnce(ctx context.Context, first string, also []string) (all []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range all {
				err = errors.Join(err, l.Close())
			}
			all = nil
		}
	}()
	var cfg net.ListenConfig
	for i := range 1 + len(also) {
		addr := first
		if i > 0 {
			addr = net.JoinHostPort(also[i-1], strconv.Itoa(port(all[0])))
		}
		network := "tcp"
		if at, err := netip.ParseAddrPort(addr); err == nil && at.Addr().Is4() {
			// for tcp, Go takes 0.0.0.0 to be [::], too: past a firewall that knows IPv4 only
			network = "tcp4"
		}
		l, err := cfg.Listen(ctx, network, addr)
		if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
			return all, fmt.Errorf("cannot listen on %s: %s", addr, xmlrpc.Reason(dns))
		} else if err != nil {
			return all, err
		}
		all = append(all, l)
	}
	return all, nil
}

// newRunID returns a UUID of version 1, as roscore makes from time and host; the part for the host
// is random, and the bit that marks a random part is set.
func newRunID(now time.Time) string {
	const since1582 = 0x01B21DD213814000 // 100 ns steps from 1582-10-15 to 1970-01-01
	t := uint64(now.UnixNano()/100) + since1582
	var b [16]byte
	_, _ = rand.Read(b[8:]) // never fails
	binary.BigEndian.PutUint32(b[0:], uint32(t))
	binary.BigEndian.PutUint16(b[4:], uint16(t>>32))
	binary.BigEndian.PutUint16(b[6:], uint16(t>>48)&0x0fff|0x1000)
	b[8] = b[8]&0x3f | 0x80
	b[10] |= 1
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
