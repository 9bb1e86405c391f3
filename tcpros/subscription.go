package tcpros

import (
	"fmt"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/sublink"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// SubscribeOptions describe a subscription.
type SubscribeOptions struct {
	Topic           string
	Type            string // empty means "*"
	MD5Sum          string // empty means "*"
	TCPNoDelay      bool   // ask the publishers for TCP_NODELAY
	UDP             bool   // prefer UDPROS; publishers without it are received over TCPROS
	MaxMessageBytes int    // zero means 256 MiB; at most 1 000 000 000
	Priority        int    // at the master: a lower one registers first, equal ones in the order of Subscribe

	// Open is called on the link's goroutine when a publisher has accepted the link. An error refuses the
	// link; it is tried again later. Only Refused and NodeOptions.Log learn of the error.
	Open func(LinkInfo) (LinkSink, error)

	// Refused is called on the link's goroutine, once for each listed publisher that this node does not
	// take: no file descriptor is left (err matches syscall.EMFILE or syscall.ENFILE), its connection
	// header is too long, or Open has returned err. The publisher is tried again, and an err of nil takes
	// the call back: a descriptor was found within seconds. Refused may be nil, and may block like Open.
	Refused func(publisherURI string, err error)
}

func (o SubscribeOptions) withDefaults() (SubscribeOptions, error) {
	if o.Type == "" {
		o.Type = names.AnyType
	}
	if o.MD5Sum == "" {
		o.MD5Sum = wire.AnyMD5
	}
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = wire.DefaultMaxMessage
	}
	if err := names.CheckType(o.Type); err != nil {
		return o, err
	}
	if o.MaxMessageBytes < 0 || o.MaxMessageBytes > wire.HardMaxMessage {
		return o, fmt.Errorf("message limit of %d bytes: not in 1..%d", o.MaxMessageBytes,
			wire.HardMaxMessage)
	}
	if o.Open == nil {
		return o, fmt.Errorf("subscribe to %q without Open: set SubscribeOptions.Open", o.Topic)
	}
	return o, nil
}

// Subscription receives one topic from all its publishers.
type Subscription struct {
	node *Node
	in   *sublink.Subscription
}

// Close closes every link. When it returns, the goroutines have ended and Closed was called
// on each sink. The node unregisters the topic. A sink must not call Close.
func (s *Subscription) Close() {
	s.node.dropSubscription(s)
	s.in.Stop()
	s.in.Wait()
}

// Topic returns the resolved name.
func (s *Subscription) Topic() string { return s.in.Topic() }

// Publishers returns the number of links that are up.
func (s *Subscription) Publishers() int { return s.in.Publishers() }

// Registered reports whether the master has confirmed the subscription, and if so, how many
// publishers it has listed last.
func (s *Subscription) Registered() (publishers int, ok bool) {
	return s.node.reg.Registered(rosapi.Key{Name: s.Topic()})
}
