package tcpros

import (
	"encoding/binary"
	"io"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/linksink"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/publink"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/service"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// Names and arguments.
type (
	// Args are the ROS arguments of a command line, as ParseArgs finds them:
	//
	//	Remaps    []Remap // in the order given; the last of one name wins
	//	Name      string  // __name
	//	Namespace string  // __ns
	//	MasterURI string  // __master
	//	Hostname  string  // __hostname
	//	IP        string  // __ip
	//	LogFile   string  // __log
	//	Port      int     // __tcpros_server_port; zero means any
	//	Params    []Param // _name:=value
	Args = names.Args
	// Remap is one from:=to argument, unresolved: From and To.
	Remap = names.Remap
	// Param is one _name:=value argument, a private parameter to set at the master: Name, without
	// the underscore, and Value, the first of int, float64, bool and string that the text is.
	Param = names.Param
	// NameError says why a graph resource name is refused: Name and Reason. It matches ErrName.
	NameError = names.NameError
)

// ParseArgs removes every argument that contains := from args, as roscpp does. NewNode checks
// the names, because it knows the namespace.
func ParseArgs(args []string) (rest []string, a Args, err error) { return names.ParseArgs(args) }

// CheckName reports whether name is a valid graph resource name as roscpp defines it: the first
// character is a letter, / or ~, the others are letters, digits, / and _. The empty name is
// valid. The error is a *NameError.
func CheckName(name string) error { return names.CheckName(name) }

// Addresses.
type (
	// LookupHostFunc finds the addresses of a host name, as net.Resolver.LookupHost does.
	LookupHostFunc = endpoint.LookupHostFunc
	// ResolveError says that this machine cannot resolve a host name that a peer advertises: Host,
	// and Err, the resolver's error. It matches ErrUnresolved.
	ResolveError = endpoint.ResolveError
)

// CheckMasterURI returns why the URI of a master cannot be used, and what to write instead,
// without the URI itself.
func CheckMasterURI(uri string) error { return endpoint.CheckMasterURI(uri) }

// CheckHost returns why a host cannot be advertised to other nodes, without the host itself.
// CheckHost does not resolve the name.
func CheckHost(host string) error { return endpoint.CheckHost(host) }

// AnyMD5 in a header matches every md5sum.
const AnyMD5 = wire.AnyMD5

// Connection headers, and the errors of peers.
type (
	// Header is a TCPROS connection header: a slice of its fields in wire order, each a Key and a
	// Value. Its methods Value(key) and Get(key) return a value, Value "" and Get false if there is
	// none. The header of a publisher has the keys type, md5sum and message_definition.
	Header = wire.Header
	// HeaderError says what is wrong with a connection header: Reason, and Err, its cause or nil. It
	// matches ErrHeader.
	HeaderError = wire.HeaderError
	// PeerError has the error field of a peer's connection header as its Text. It matches ErrPeer.
	PeerError = wire.PeerError
	// TooLargeError says that a peer announced a message of more Bytes than the Limit. It matches
	// ErrTooLarge.
	TooLargeError = wire.TooLargeError
)

// AppendHeader appends the wire form of the header, with its length, to dst.
func AppendHeader(dst []byte, h Header) []byte { return wire.AppendHeader(dst, h) }

// ReadHeader reads a header with its length. It never reads beyond the header, and allocates
// memory for bytes that have arrived, not for announced ones. The error is a *HeaderError for
// an invalid header, and otherwise the error of r; io.EOF means that no byte was sent.
func ReadHeader(r io.Reader) (Header, error) { return wire.ReadHeader(r) }

// The master and its answers.
type (
	// Master is a client of the ROS master, of its parameter server and of other nodes' slave
	// APIs. Every error is a *CallError; one that wraps a *StatusError means that the other side
	// answered and refused. Its methods are LookupNode and LookupService, Param and SetParam,
	// SystemState, PublishedTopics and TopicTypes, NodeSubscriptions, NodePublications and
	// Accepts.
	Master = rosapi.Master
	// SystemState is the node graph as the master knows it: Publishers and Subscribers are maps
	// from a topic to names of nodes, and Services is a map from a service to those of its nodes.
	SystemState = rosapi.SystemState
	// TopicInfo is one topic: Name and Type, which is "*" if it is not known.
	TopicInfo = rosapi.TopicInfo
	// CallError is a failed call to the master or to a node: Method, Host (host:port), Err, its
	// cause, and Answered, which says that a valid reply came, so that the peer is reachable.
	CallError = rosapi.CallError
	// StatusError is a reply of the master or of a node whose Code is not 1, with its Text. It
	// matches ErrStatus.
	StatusError = rosapi.StatusError
)

// Publishing.
type (
	// Source is one original publisher of a topic. Frame makes the frames, of payloads; they are not
	// checked, and a payload without its length breaks the links of all subscribers. The methods:
	//
	//	Publish(frame []byte)    // to every subscriber; never blocks; the frame must not change afterwards
	//	PublishNow(frame []byte) // Publish for a single frame that is due now
	//	Unlatch()                // drops the latched frame
	Source = publink.Source
	// Adapted is what some subscribers of a publication get instead of the published frames. Type,
	// MD5Sum and MessageDefinition are what the reply to them has. Frame, a func(frame []byte)
	// []byte, returns what becomes of a published frame, in memory of its own; nil leaves the frame
	// out. It is called under a lock, once for each frame, and must not block.
	Adapted = publink.Adapted
	// Overflow says what a publication does with a frame when a subscriber's queue is full.
	Overflow = publink.Overflow
	// SubscriberStats is the state of the link to one subscriber:
	//
	//	CallerID string // the name of its node
	//	Peer     string // host:port
	//	Queued   int    // frames waiting
	//	Frames   uint64 // frames written to the socket
	//	Bytes    uint64 // of Frames
	//	Dropped  uint64 // frames dropped from the full queue
	//	Full     bool   // with OverflowBlock: the queue is full, so that Room is false
	SubscriberStats = publink.SubscriberStats
	// DrainError lists the Subscribers, a slice of Undrained, that did not read all messages. Err is
	// the error of the context if that ended the wait. It matches ErrNotDrained.
	DrainError = publink.DrainError
	// Undrained is one subscriber that did not read all messages: Topic, CallerID, the name of its
	// node, Frames, the number that never left the queue, and Reason, such as "takes nothing".
	Undrained = publink.Undrained
)

// What a publication does when a subscriber's queue is full.
const (
	// OverflowDrop drops the oldest frame of a queue that already has AdvertiseOptions.QueueFrames
	// frames, and counts the drop, as stock does.
	OverflowDrop = publink.OverflowDrop
	// OverflowBlock drops nothing. Publish still never blocks: the caller has to check Room first
	// and to wait for AdvertiseOptions.Freed, otherwise queues grow without bound. QueueFrames has
	// no effect: a queue is full at 2 MiB, so that memory is bounded.
	OverflowBlock = publink.OverflowBlock
)

// Receiving.
type (
	// LinkInfo describes a link when it opens: Topic (resolved), PublisherURI (of its slave API),
	// Peer (host:port), Header (the publisher's reply, every field, in wire order) and Transport
	// (TCPROS or UDPROS).
	LinkInfo = linksink.LinkInfo
	// LinkSink receives the messages of one link. Only the link's goroutine calls it:
	//
	//	// count complete frames back to back, valid during the call only; received is when their
	//	// last byte was read. It may block: the socket is not read in the meantime.
	//	Frames(run []byte, count int, received time.Time)
	//	// Closed is the last call. err is nil when this side closed the link, io.EOF when the
	//	// publisher closed it between two messages.
	//	Closed(err error)
	LinkSink = linksink.LinkSink
	// LargeSink is a LinkSink that has memory for frames longer than 128 KiB, so that they are not
	// copied. For a sink without this method the link gathers such a frame, in memory that grows with
	// what arrives, up to SubscribeOptions.MaxMessageBytes for each link, and passes it to Frames:
	//
	//	Large(frameBytes int) LargeFrame // nil discards the frame
	LargeSink = linksink.LargeSink
	// LargeFrame is filled by a link, first the 4 bytes of the length, then the payload:
	//
	//	Room(n int) []byte         // 1 to n bytes to fill, or nil to discard the rest
	//	Commit(received time.Time) // the frame is complete
	//	Abort()                    // the frame will not be completed
	LargeFrame = linksink.LargeFrame
	// LostSink is a LinkSink with a method Lost(messages int), which counts messages lost by
	// UDPROS; -1 corrects the count for a message that arrived late.
	LostSink = linksink.LostSink
)

// SinkFunc is a LinkSink that is called with the payload of each message, of any size, without the
// length before it. The payload is valid during the call only.
type SinkFunc func(payload []byte, received time.Time)

// Frames implements LinkSink.
func (f SinkFunc) Frames(run []byte, count int, received time.Time) {
	for range count {
		n := 4 + int(binary.LittleEndian.Uint32(run))
		f(run[4:n:n], received)
		run = run[n:]
	}
}

// Closed implements LinkSink.
func (f SinkFunc) Closed(error) {}

// Frame returns a payload as a frame, with its length before it.
func Frame(payload []byte) []byte {
	b := make([]byte, 4+len(payload))
	binary.LittleEndian.PutUint32(b, uint32(len(payload)))
	copy(b[4:], payload)
	return b
}

// LargeOf returns the destination of a large frame: what the sink's method Large returns or, if it has
// none, memory that grows with what arrives. It is for sinks that pass messages on to others.
func LargeOf(sink LinkSink, frameBytes int) LargeFrame { return linksink.LargeOf(sink, frameBytes) }

// Deliver passes one frame to a sink as a TCPROS link does: by Frames or, if it is longer than 128 KiB,
// by Large.
func Deliver(sink LinkSink, frame []byte, received time.Time) {
	linksink.Deliver(sink, frame, received)
}

// Services.
type (
	// ServiceType is the type of a service: Type, such as std_srvs/Trigger, and MD5Sum.
	// RequestType and ResponseType are Type and "Request" or "Response" if they are empty.
	ServiceType = service.Type
	// ServiceHandler answers one call: func(ctx, request []byte) (answer []byte, err error), both
	// serialized and without their length. An error is sent to the client as the service's
	// refusal. Calls of several clients run concurrently, each in a goroutine of its own. ctx ends
	// a grace period after the service is closed.
	ServiceHandler = service.Handler
	// ServiceError is the answer of a service that refused a call: Service, its name, and Text. It
	// matches ErrService.
	ServiceError = service.Error
)
