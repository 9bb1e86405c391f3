package tcpros

import (
	"context"
	"net/netip"

	"go.uber.org/zap"
)

// NodeOptions say who the node is and where its master is.
type NodeOptions struct {
	BaseName   string                    // name without namespace, such as "record"
	Anonymous  bool                      // add _<wall nanoseconds>, unless __name is given
	Args       Args                      // from ParseArgs
	Getenv     func(string) string       // nil means os.Getenv; empty text counts as unset
	MasterURI  string                    // overrides __master and ROS_MASTER_URI
	Bind       string                    // address to listen on; empty means chosen, see the package's README part
	Log        *zap.Logger               // nil means none
	OnShutdown func(reason, peer string) // called for the slave API's shutdown, must not block; nil refuses the call
	LookupHost LookupHostFunc            // nil means the system's resolver
}

// LookupHostFunc finds the addresses of a host name.
type LookupHostFunc func(ctx context.Context, host string) ([]netip.Addr, error)

// Node is one ROS node.
type Node struct{}

// NewNode listens and serves, and returns at once even when the master is away.
// ctx bounds this call only; the node lives until Close.
func NewNode(ctx context.Context, o NodeOptions) (*Node, error) { panic("tcpros: not yet") }

// Name returns the node's resolved name, its caller ID.
func (n *Node) Name() string { panic("tcpros: not yet") }

// URI returns the URI of the node's slave API.
func (n *Node) URI() string { panic("tcpros: not yet") }

// MasterURI returns the URI of the node's master.
func (n *Node) MasterURI() string { panic("tcpros: not yet") }

// Resolve returns the full name that name stands for, remapping included.
func (n *Node) Resolve(name string) (string, error) { panic("tcpros: not yet") }

// Master returns a client of the node's master.
func (n *Node) Master() *Master { panic("tcpros: not yet") }

// Subscribe starts to receive a topic. Registration happens in the background and
// is repeated for ever.
func (n *Node) Subscribe(o SubscribeOptions) (*Subscription, error) { panic("tcpros: not yet") }

// Advertise starts to offer a topic.
func (n *Node) Advertise(o AdvertiseOptions) (*Publication, error) { panic("tcpros: not yet") }

// Drain ends publishing.
func (n *Node) Drain(ctx context.Context) error { panic("tcpros: not yet") }

// Close unregisters everything, within ctx and at most one second, and ends every
// goroutine of the node.
func (n *Node) Close(ctx context.Context) error { panic("tcpros: not yet") }
