package tcpros

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/publink"
	"github.com/gorosbag/gorosbag/tcpros/internal/registrar"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// NodeOptions say who the node is and where its master is.
type NodeOptions struct {
	BaseName  string              // name without namespace, such as "record"
	Anonymous bool                // add _<wall nanoseconds>, unless __name is given
	Args      Args                // from ParseArgs
	Getenv    func(string) string // nil means os.Getenv; empty text counts as unset
	MasterURI string              // overrides __master and ROS_MASTER_URI

	// Bind is the address to listen on. Empty means the address that is advertised
	// (ROS_IP, ROS_HOSTNAME), loopback if neither is set and the master is on
	// loopback, and all addresses if this machine does not have the advertised
	// address, or if others may know the advertised host under another one.
	Bind string

	// OnShutdown is called when a peer requests shutdown, as rosnode kill and the master
	// do. It must return soon and not call Close. nil refuses the request.
	OnShutdown func(reason, peer string)

	Log        *zap.Logger    // nil means none
	LookupHost LookupHostFunc // nil means the system's resolver

	timing *timing // set by tests only; nil means defaultTiming
}

// Node is one ROS node.
type Node struct {
	name       string
	host       string // advertised
	uri        string // of the slave API
	port       int    // of the TCPROS server
	bind       string // address to listen on; empty means all
	timing     timing
	pending    *wire.Pending
	connector  *connector
	names      *names.Resolver
	log        *zap.Logger
	master     *rosapi.Master
	dialer     *endpoint.Dialer
	reg        *registrar.Registrar
	api        *xmlrpc.Server
	onShutdown func(reason, peer string)

	keepAlive atomic.Bool
	draining  atomic.Bool
	links     atomic.Int64 // last assigned link ID

	stopReg func()                          // stops the registrar
	stopAll func()                          // cancels the context of everything that start runs
	start   func(func(ctx context.Context)) // runs a function in a goroutine until stopAll
	child   func() (context.Context, context.CancelFunc)
	wait    func() // waits for all goroutines of start

	mu       sync.Mutex
	closed   bool
	subs     map[string]*Subscription
	pubs     map[string]*Publication
	services map[string]*Service
}

// NewNode listens and serves, and returns at once even when the master is away.
// ctx bounds this call only; the node lives until Close.
func NewNode(ctx context.Context, o NodeOptions) (*Node, error) {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	n := &Node{
		log: o.Log, onShutdown: o.OnShutdown, timing: defaultTiming(),
		subs: map[string]*Subscription{}, pubs: map[string]*Publication{}, services: map[string]*Service{},
	}
	if n.log == nil {
		n.log = zap.NewNop()
	}
	n.log = loglimit.Logger(n.log)
	if o.timing != nil {
		n.timing = *o.timing
	}
	n.dialer = endpoint.NewDialer(o.LookupHost, n.timing.resolve)
	n.pending = wire.NewPending(n.log)
	uri, hostport, err := endpoint.MasterURI(o.MasterURI, o.Args, getenv)
	if err != nil {
		return nil, err
	}
	anonymous := ""
	if o.Anonymous {
		anonymous = strconv.FormatInt(time.Now().UnixNano(), 10)
	}
	if n.names, err = names.New(o.BaseName, anonymous, getenv("ROS_NAMESPACE"), o.Args); err != nil {
		return nil, err
	}
	n.name = n.names.Node
	n.keepAlive.Store(true)
	n.master = rosapi.NewMaster(uri, hostport, n.name, n.dialer, rosapi.NewHangWatch(n.log, n.timing.hangReport))
	n.connector = newConnector(n.timing, n.master.Probe)
	at := endpoint.NewLocator(n.dialer, getenv).Find(ctx, o.Bind, o.Args, hostport)
	if err := endpoint.CheckAdvertised(at.Host); err != nil {
		return nil, err
	}
	n.host, n.bind = at.Host, at.Bind
	if at.Unresolved {
		n.log.Warn("the name that this node advertises cannot be resolved here, and perhaps not by others, who then cannot reach it: "+
			"correct ROS_HOSTNAME, or set ROS_IP to an address", zap.String("advertised", at.Host))
	}
	if at.Foreign {
		n.log.Warn("the address that this node advertises is none of this machine, so others reach it only if something forwards their connections: "+
			"correct ROS_IP or ROS_HOSTNAME", zap.String("advertised", at.Host))
	}
	n.log.Debug("listening", zap.String("bind", at.Bind), zap.String("advertised", at.Host), zap.String("why", at.Reason))
	if err := n.serve(ctx, at, o.Args); err != nil {
		return nil, err
	}
	return n, nil
}

// serve opens both ports and starts the node's goroutines.
func (n *Node) serve(ctx context.Context, at endpoint.Endpoint, a names.Args) error {
	bind := at.Bind
	var lc net.ListenConfig
	network := "tcp4" // as roscpp: an IPv6 wildcard would advertise nothing more
	if ip, err := netip.ParseAddr(bind); err == nil && ip.Is6() {
		network = "tcp6"
	}
	api, err := lc.Listen(ctx, network, net.JoinHostPort(bind, "0"))
	if err != nil {
		return fmt.Errorf("slave API: %w", err)
	}
	data, err := lc.Listen(ctx, network, net.JoinHostPort(bind, strconv.Itoa(a.Port)))
	if err != nil {
		_ = api.Close() // it is not advertised yet
		return fmt.Errorf("server: %w", err)
	}
	n.port = data.Addr().(*net.TCPAddr).Port
	n.uri = "http://" + net.JoinHostPort(n.host, strconv.Itoa(api.Addr().(*net.TCPAddr).Port)) + "/"
	n.api = xmlrpc.NewServer(n.slave, xmlrpc.ServerOptions{})
	n.reg = registrar.New(registrar.Options{
		Log: n.log, Timing: n.timing.registrar, Master: n.master, URI: n.uri, Params: a.Params, Namespace: n.name, LoopbackDefault: at.LoopbackDefault,
		SourceAddr:   func(ctx context.Context) netip.Addr { return n.dialer.SourceAddr(ctx, n.master.HostPort()) },
		RosRPC:       "rosrpc://" + net.JoinHostPort(n.host, strconv.Itoa(n.port)),
		SetKeepAlive: n.keepAlive.Store,
	})
	n.launch() //nolint:contextcheck // the node outlives ctx, which bounds its start only

	server := &tcprosServer{node: n, ln: data}
	// owner: Node; all end with Close.
	n.start(func(context.Context) {
		if err := n.api.Serve(api); err != nil {
			n.log.Error("slave API ended", zap.Error(err))
		}
	})
	n.start(server.run)
	n.start(n.connector.run)
	return nil
}

// launch sets start, stopAll and wait, and runs the registrar, which is stopped first.
func (n *Node) launch() {
	var wg sync.WaitGroup
	all, stopAll := context.WithCancel(context.Background()) // Close ends it
	n.stopAll, n.wait = stopAll, wg.Wait
	n.start = func(f func(context.Context)) {
		// owner: Node; ends with Close, or when f returns.
		wg.Go(func() { f(all) })
	}
	n.child = func() (context.Context, context.CancelFunc) { return context.WithCancel(all) }
	ctx, cancel := n.child()
	calls, cancelCalls := n.child()
	ended := make(chan struct{})
	n.stopReg = func() {
		cancel()
		last := time.AfterFunc(n.timing.unregisterTimeout/lastCallShare, cancelCalls)
		<-ended
		last.Stop()
		cancelCalls()
	}
	n.start(func(context.Context) {
		defer close(ended)
		n.reg.Run(ctx, calls)
	})
}

// Name returns the node's resolved name, its caller ID.
func (n *Node) Name() string { return n.name }

// URI returns the URI of the node's slave API.
func (n *Node) URI() string { return n.uri }

// MasterURI returns the URI of the node's master.
func (n *Node) MasterURI() string { return n.master.URI() }

// MasterUp reports whether the master answered the last call; there is one every few seconds.
func (n *Node) MasterUp() bool { return n.reg.Up() }

// Resolve resolves name to a full name and applies remappings.
func (n *Node) Resolve(name string) (string, error) { return n.names.Resolve(name) }

// Master returns a client of the node's master.
func (n *Node) Master() *rosapi.Master { return n.master }

// Unread says what could not be read of the master's replies, such as names that are too long. now is
// about the last replies to what is asked again and again; empty if all were read in full. ever is
// the latest text that was not empty.
func (n *Node) Unread() (now, ever string) { return n.master.Unread() }

// Subscribe starts receiving a topic. Registration happens in the background and is retried
// for ever.
func (n *Node) Subscribe(o SubscribeOptions) (*Subscription, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	topic, err := n.Resolve(o.Topic)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, ErrClosed
	}
	if old := n.subs[topic]; old != nil {
		return nil, &ConflictError{topic, old.opts.Type + "/" + old.opts.MD5Sum, o.Type + "/" + o.MD5Sum}
	}
	s := newSubscription(n, topic, o)
	n.subs[topic] = s
	n.reg.Add(rosapi.Key{Name: topic}, o.Type, o.Priority, s)
	return s, nil
}

// Advertise advertises a topic. A node advertises a topic once, with one type; any number
// of sources may publish to it.
func (n *Node) Advertise(o AdvertiseOptions) (*Publication, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	topic, err := n.Resolve(o.Topic)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || n.draining.Load() {
		return nil, ErrClosed
	}
	if old := n.pubs[topic]; old != nil {
		typ, md5sum := old.out.Type()
		return nil, &ConflictError{topic, typ + "/" + md5sum, o.Type + "/" + o.MD5Sum}
	}
	out := publink.New(publink.Options{
		Type: o.Type, MD5Sum: o.MD5Sum, MessageDefinition: o.MessageDefinition,
		Latching: o.Latching, QueueFrames: o.QueueFrames, Overflow: o.Overflow, Freed: o.Freed,
	}, topic, n.name)
	p := &Publication{node: n, out: out, transient: o.Transient}
	n.pubs[topic] = p
	n.reg.Add(rosapi.Key{Kind: rosapi.Publisher, Name: topic}, o.Type, 0, nil)
	return p, nil
}

func (n *Node) dropSubscription(s *Subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subs[s.topic] == s {
		delete(n.subs, s.topic)
		n.reg.Remove(rosapi.Key{Name: s.topic})
	}
}

func (n *Node) dropPublication(p *Publication) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if topic := p.Topic(); n.pubs[topic] == p {
		delete(n.pubs, topic)
		n.reg.Remove(rosapi.Key{Kind: rosapi.Publisher, Name: topic})
	}
}

// Publication returns what this node advertises under a resolved name, nil if it does not, or
// no longer: after Drain subscribers are refused.
func (n *Node) Publication(topic string) *Publication {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.draining.Load() {
		return nil
	}
	return n.pubs[topic]
}

// Publications returns the names of the topics that this node advertises, sorted.
func (n *Node) Publications() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.pubs))
}

func (n *Node) allPublications() []*Publication {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.SortedFunc(maps.Values(n.pubs), func(a, b *Publication) int { return strings.Compare(a.Topic(), b.Topic()) })
}

func (n *Node) allSubscriptions() []*Subscription {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.SortedFunc(maps.Values(n.subs), func(a, b *Subscription) int { return strings.Compare(a.topic, b.topic) })
}

func (n *Node) nextLink() int { return int(n.links.Add(1)) }

// lastCallShare is the share of timing.unregisterTimeout that a registration in progress has
// when the node closes.
const lastCallShare = 4

// Close closes every link, unregisters everything, within ctx and at most one second, and
// ends every goroutine of the node. Service calls in progress are answered first, within the
// limits of Service.Close. The error is about unregistering only: everything else is done in
// any case. Publications are not flushed: see Drain.
func (n *Node) Close(ctx context.Context) error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return ErrClosed
	}
	n.closed = true
	subs, pubs := slices.Collect(maps.Values(n.subs)), slices.Collect(maps.Values(n.pubs))
	services := slices.Collect(maps.Values(n.services))
	n.mu.Unlock()
	n.stopReg()
	for _, p := range pubs {
		p.out.Abort()
	}
	for _, s := range subs {
		s.stop()
	}
	var calls sync.WaitGroup
	for _, s := range services {
		// owner: Close; ends within 3 * timing.serviceGrace.
		calls.Go(func() { s.stop(ctx) })
	}
	err := n.unregisterAll(ctx)
	calls.Wait()
	n.stopAll()
	n.master.Close()
	err = errors.Join(err, n.api.Close())
	for _, s := range subs {
		s.wait()
	}
	n.wait()
	return err
}

// Drain ends publishing: it refuses new subscribers, sends every queue, closes every link for
// writing, and waits until each subscriber has read everything and closed its side. It gives
// up on a subscriber that reads nothing for 5 s, and on all when ctx ends. The error is a
// *DrainError. Transient topics continue until Close.
//
// Unregister (Close) only afterwards: roscpp and rospy close a link, and lose what is unread
// in it, when the master tells them that the publisher has unregistered.
func (n *Node) Drain(ctx context.Context) error {
	n.draining.Store(true)
	var all []*publink.Publication
	for _, p := range n.allPublications() {
		if !p.transient {
			all = append(all, p.out)
		}
	}
	return publink.Drain(ctx, n.timing.drainTimeout, all)
}

// UnregisterAll unregisters everything, as long as the master keeps answering: a node that is
// still listed after its end looks like one that has crashed.
func (n *Node) unregisterAll(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(n.timing.unregisterTimeout, cancel)
	err := n.reg.UnregisterAll(ctx, func() { silent.Reset(n.timing.unregisterTimeout) })
	if !silent.Stop() && err != nil {
		return fmt.Errorf("the master does not answer: %w", context.DeadlineExceeded)
	}
	return err
}
