package tcpros

import (
	"context"
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
	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/publink"
	"github.com/gorosbag/gorosbag/tcpros/internal/registrar"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/service"
	"github.com/gorosbag/gorosbag/tcpros/internal/slaveapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/sublink"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// NodeOptions say who the node is and where its master is.
type NodeOptions struct {
	BaseName  string              // name without namespace, such as "record"
	Anonymous bool                // add _<wall nanoseconds>, unless __name is given
	Args      Args                // from ParseArgs
	Getenv    func(string) string // nil means os.Getenv; empty text counts as unset
	MasterURI string              // overrides __master and ROS_MASTER_URI

	// Bind is the address to listen on. Empty means the address that is advertised (ROS_IP,
	// ROS_HOSTNAME), loopback if neither is set and the master is on loopback, and all addresses if
	// this machine does not have the advertised address, or if other machines may resolve the
	// advertised host to another address.
	Bind string

	// OnShutdown is called when a peer requests shutdown, as rosnode kill and the master
	// do. It must return soon and not call Close. nil refuses the request.
	OnShutdown func(reason, peer string)

	// Ending is closed when the program begins to end. From then on the node does not complain about a
	// master that is away: those who stop a robot may stop all its programs at once. nil is never closed.
	Ending <-chan struct{}

	Log        *zap.Logger    // says what the node waits for, and which peers fail; nil means none
	LookupHost LookupHostFunc // nil means the system's resolver

	timing *timing // set by tests only; nil means defaultTiming
}

// env returns the value of an environment variable for the node.
func (o *NodeOptions) env(key string) string {
	if o.Getenv == nil {
		return os.Getenv(key)
	}
	return o.Getenv(key)
}

// Node is one ROS node.
type Node struct {
	name       string
	addr       address
	timing     timing
	log        *zap.Logger
	names      *names.Resolver
	dialer     *endpoint.Dialer
	pending    *wire.Pending
	master     *Master
	reg        *registrar.Registrar
	connector  *sublink.Connector
	calls      *service.Env
	api        *xmlrpc.Server
	onShutdown func(reason, peer string)

	keepAlive atomic.Bool
	draining  atomic.Bool
	links     atomic.Int64 // last assigned link ID

	tasks tasks
	graph graph
}

// address is the address at which peers reach a node.
type address struct {
	host string // advertised
	uri  string // of the slave API
	port int    // of the TCPROS server
	bind string // address to listen on; empty means all
}

// tasks are the goroutines of a node.
type tasks struct {
	ctx     context.Context //nolint:containedctx // the lifetime of all goroutines; stopAll ends it
	stopAll context.CancelFunc
	wg      sync.WaitGroup
	stopReg func() // stops the registrar
}

// start runs a function in a goroutine. The context ends with stopAll.
func (t *tasks) start(f func(context.Context)) {
	// owner: Node; ends with Close, or when f returns.
	t.wg.Go(func() { f(t.ctx) })
}

// child returns a context that ends with stopAll.
func (t *tasks) child() (context.Context, context.CancelFunc) { return context.WithCancel(t.ctx) }

// graph has the subscriptions, publications and services of a node, by resolved name.
type graph struct {
	mu       sync.Mutex
	closed   bool
	subs     map[string]*Subscription
	pubs     map[string]*Publication
	services map[string]*Service
}

// NewNode listens and serves, and returns at once even when the master is away.
// ctx bounds this call only; the node lives until Close.
func NewNode(ctx context.Context, o NodeOptions) (*Node, error) {
	n := &Node{
		log: o.Log, onShutdown: o.OnShutdown, timing: defaultTiming(),
		graph: graph{
			subs: map[string]*Subscription{}, pubs: map[string]*Publication{},
			services: map[string]*Service{},
		},
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
	uri, hostport, err := endpoint.MasterURI(o.MasterURI, o.Args, o.env)
	if err != nil {
		return nil, err
	}
	anonymous := ""
	if o.Anonymous {
		anonymous = strconv.FormatInt(time.Now().UnixNano(), 10)
	}
	if n.names, err = names.New(o.BaseName, anonymous, o.env("ROS_NAMESPACE"), o.Args); err != nil {
		return nil, err
	}
	n.name = n.names.Node
	n.keepAlive.Store(true)
	n.master = rosapi.NewMaster(uri, hostport, n.name, n.dialer,
		rosapi.NewHangWatch(n.log, n.timing.hangReport))
	at := endpoint.NewLocator(n.dialer, o.env).Find(ctx, o.Bind, o.Args, hostport)
	if err := endpoint.CheckAdvertised(at.Host); err != nil {
		return nil, err
	}
	n.addr.host, n.addr.bind = at.Host, at.Bind
	if at.Unresolved {
		n.log.Warn("the name that this node advertises cannot be resolved here, and perhaps not by others, who then cannot reach it: "+
			"correct ROS_HOSTNAME, or set ROS_IP to an address", zap.String("advertised", at.Host))
	}
	if at.Foreign {
		n.log.Warn("the address that this node advertises is none of this machine, so others reach it only if something forwards their connections: "+
			"correct ROS_IP or ROS_HOSTNAME", zap.String("advertised", at.Host))
	}
	n.log.Debug("listening", zap.String("bind", at.Bind), zap.String("advertised", at.Host),
		zap.String("why", at.Reason))
	if err := n.serve(ctx, at, &o); err != nil {
		return nil, err
	}
	return n, nil
}

// serve opens both ports and starts the node's goroutines.
func (n *Node) serve(ctx context.Context, at endpoint.Endpoint, o *NodeOptions) error {
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
	data, err := lc.Listen(ctx, network, net.JoinHostPort(bind, strconv.Itoa(o.Args.Port)))
	if err != nil {
		_ = api.Close() // it is not advertised yet
		return fmt.Errorf("server: %w", err)
	}
	n.addr.port = data.Addr().(*net.TCPAddr).Port
	n.addr.uri = "http://" + net.JoinHostPort(n.addr.host, strconv.Itoa(api.Addr().(*net.TCPAddr).Port)) + "/"
	n.reg = registrar.New(registrar.Options{
		Log: n.log, Timing: n.timing.registrar, Master: n.master, URI: n.addr.uri, Params: o.Args.Params,
		Namespace: n.name, LoopbackDefault: at.LoopbackDefault, Ending: o.Ending,
		SourceAddr: func(ctx context.Context) netip.Addr {
			return n.dialer.SourceAddr(ctx,
				n.master.HostPort())
		},
		RosRPC:       "rosrpc://" + net.JoinHostPort(n.addr.host, strconv.Itoa(n.addr.port)),
		SetKeepAlive: n.keepAlive.Store,
	})
	n.api = xmlrpc.NewServer(n.slave().Answer, xmlrpc.ServerOptions{})
	n.launch() //nolint:contextcheck // the node outlives ctx, which bounds its start only

	n.connector = sublink.NewConnector(&sublink.Env{
		CallerID: n.name, Host: n.addr.host, Bind: n.addr.bind, Log: n.log, Master: n.master,
		Dialer: n.dialer, Pending: n.pending,
		Links: endpoint.ProcessLinks(), Timing: n.timing.links, KeepAlive: n.keepAlive.Load,
		NextLink: n.nextLink, Child: n.tasks.child,
	})
	n.calls = &service.Env{
		CallerID: n.name, Log: n.log, Master: n.master, Dialer: n.dialer, Pending: n.pending,
		KeepAlive: n.keepAlive.Load,
		Timing:    n.timing.services,
	}
	server := &tcprosServer{node: n, ln: data}
	// owner: Node; all end with Close.
	n.tasks.start(func(context.Context) {
		if err := n.api.Serve(api); err != nil {
			n.log.Error("slave API ended", zap.Error(err))
		}
	})
	n.tasks.start(server.run)
	n.tasks.start(n.connector.Run)
	return nil
}

// launch begins the lifetime of the node, and runs the registrar, which stopReg stops first.
func (n *Node) launch() {
	n.tasks.ctx, n.tasks.stopAll = context.WithCancel(context.Background())
	ctx, cancel := n.tasks.child()
	calls, cancelCalls := n.tasks.child()
	ended := make(chan struct{})
	n.tasks.stopReg = func() {
		cancel()
		last := time.AfterFunc(n.timing.unregisterTimeout/lastCallShare, cancelCalls)
		<-ended
		last.Stop()
		cancelCalls()
	}
	n.tasks.start(func(context.Context) {
		defer close(ended)
		n.reg.Run(ctx, calls)
	})
}

// Name returns the node's resolved name, its caller ID.
func (n *Node) Name() string { return n.name }

// URI returns the URI of the node's slave API.
func (n *Node) URI() string { return n.addr.uri }

// MasterURI returns the URI of the node's master.
func (n *Node) MasterURI() string { return n.master.URI() }

// MasterUp reports whether the master answered the last call; there is one every few seconds.
func (n *Node) MasterUp() bool { return n.reg.Up() }

// Resolve resolves name to a full name and applies remappings.
func (n *Node) Resolve(name string) (string, error) { return n.names.Resolve(name) }

// Master returns a client of the node's master.
func (n *Node) Master() *Master { return n.master }

// Unread describes the parts of the master's replies that could not be read, such as names that are
// too long. now describes the latest replies to calls that the node repeats; it is empty if all of
// them were read in full. ever is the latest description that was not empty.
func (n *Node) Unread() (now, ever string) { return n.master.Unread() }

// Subscribe starts receiving a topic. Registration happens in the background and is retried
// forever.
func (n *Node) Subscribe(o SubscribeOptions) (*Subscription, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	topic, err := n.Resolve(o.Topic)
	if err != nil {
		return nil, err
	}
	n.graph.mu.Lock()
	defer n.graph.mu.Unlock()
	if n.graph.closed {
		return nil, ErrClosed
	}
	if old := n.graph.subs[topic]; old != nil {
		typ, md5sum := old.in.Type()
		return nil, &ConflictError{topic, typ + "/" + md5sum, o.Type + "/" + o.MD5Sum}
	}
	in := sublink.New(n.connector, topic, sublink.Options{
		Type: o.Type, MD5Sum: o.MD5Sum, TCPNoDelay: o.TCPNoDelay, UDP: o.UDP,
		MaxMessageBytes: o.MaxMessageBytes, Open: o.Open, Refused: o.Refused,
	})
	s := &Subscription{node: n, in: in}
	n.graph.subs[topic] = s
	n.reg.Add(rosapi.Key{Name: topic}, o.Type, o.Priority, in)
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
	n.graph.mu.Lock()
	defer n.graph.mu.Unlock()
	if n.graph.closed || n.draining.Load() {
		return nil, ErrClosed
	}
	if old := n.graph.pubs[topic]; old != nil {
		typ, md5sum := old.out.Type()
		return nil, &ConflictError{topic, typ + "/" + md5sum, o.Type + "/" + o.MD5Sum}
	}
	out := publink.New(publink.Options{
		Type: o.Type, MD5Sum: o.MD5Sum, MessageDefinition: o.MessageDefinition,
		Latching: o.Latching, QueueFrames: o.QueueFrames, Overflow: o.Overflow, Freed: o.Freed,
		Unfit: o.Unfit, Links: endpoint.ProcessLinks(),
	}, topic, n.name)
	p := &Publication{node: n, out: out, transient: o.Transient}
	n.graph.pubs[topic] = p
	n.reg.Add(rosapi.Key{Kind: rosapi.Publisher, Name: topic}, o.Type, 0, nil)
	return p, nil
}

func (n *Node) dropSubscription(s *Subscription) {
	n.graph.mu.Lock()
	defer n.graph.mu.Unlock()
	if topic := s.Topic(); n.graph.subs[topic] == s {
		delete(n.graph.subs, topic)
		n.reg.Remove(rosapi.Key{Name: topic})
	}
}

func (n *Node) dropPublication(p *Publication) {
	n.graph.mu.Lock()
	defer n.graph.mu.Unlock()
	if topic := p.Topic(); n.graph.pubs[topic] == p {
		delete(n.graph.pubs, topic)
		n.reg.Remove(rosapi.Key{Kind: rosapi.Publisher, Name: topic})
	}
}

// Publication returns the publication of a topic, given by its resolved name. The result is nil if
// this node does not advertise the topic, and after Drain, when subscribers are refused.
func (n *Node) Publication(topic string) *Publication {
	n.graph.mu.Lock()
	defer n.graph.mu.Unlock()
	if n.draining.Load() {
		return nil
	}
	return n.graph.pubs[topic]
}

// Publications returns the names of the topics that this node advertises, sorted.
func (n *Node) Publications() []string {
	n.graph.mu.Lock()
	defer n.graph.mu.Unlock()
	return slices.Sorted(maps.Keys(n.graph.pubs))
}

func (n *Node) allPublications() []*Publication {
	n.graph.mu.Lock()
	defer n.graph.mu.Unlock()
	return slices.SortedFunc(maps.Values(n.graph.pubs),
		func(a, b *Publication) int { return strings.Compare(a.Topic(), b.Topic()) })
}

func (n *Node) nextLink() int { return int(n.links.Add(1)) }

// slave returns the server of the node's slave API.
func (n *Node) slave() *slaveapi.Server {
	return &slaveapi.Server{
		Name: n.name, URI: n.addr.uri, MasterURI: n.master.URI(), Host: n.addr.host, Port: n.addr.port,
		Log: n.log, Shutdown: n.onShutdown,
		Publications: func() (all []*publink.Publication) {
			for _, p := range n.allPublications() {
				all = append(all, p.out)
			}
			return all
		},
		Subscriptions: func() (all []*sublink.Subscription) {
			n.graph.mu.Lock()
			defer n.graph.mu.Unlock()
			for _, topic := range slices.Sorted(maps.Keys(n.graph.subs)) {
				all = append(all, n.graph.subs[topic].in)
			}
			return all
		},
		Publishes:       func(topic string) bool { return n.Publication(topic) != nil },
		PublisherUpdate: n.reg.PublisherUpdate,
		UDPOnly:         n.noteUDPOnly,
	}
}

// noteUDPOnly counts and logs a subscriber that takes UDPROS only. rosbag's publishers would serve it.
func (n *Node) noteUDPOnly(topic, caller, peer string) {
	if p := n.Publication(topic); p != nil && p.out.NoteUDPOnly(caller) {
		n.log.Warn("a subscriber gets nothing: it takes UDPROS only, which this node does not send; let it take TCPROS, too, as with TransportHints().unreliable().reliable()",
			zap.String("topic", topic), zap.String("subscriber", caller), zap.String("peer", peer))
	}
}
