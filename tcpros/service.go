package tcpros

import (
	"context"
	"fmt"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/service"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// defaultMaxRequest bounds a request, in bytes.
const defaultMaxRequest = 1 << 20

// ServiceOptions describe a service.
type ServiceOptions struct {
	Name            string
	Type            ServiceType
	MaxRequestBytes int // zero means 1 MiB; at most 1 000 000 000
	Handle          ServiceHandler
}

func (o ServiceOptions) withDefaults() (ServiceOptions, error) {
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = defaultMaxRequest
	}
	if o.Type.RequestType == "" {
		o.Type.RequestType = o.Type.Type + "Request"
	}
	if o.Type.ResponseType == "" {
		o.Type.ResponseType = o.Type.Type + "Response"
	}
	switch {
	case o.Handle == nil:
		return o, fmt.Errorf("service %q without Handle: set ServiceOptions.Handle", o.Name)
	case o.MaxRequestBytes < 0 || o.MaxRequestBytes > wire.HardMaxMessage:
		return o, fmt.Errorf("request limit of %d bytes: not in 1..%d", o.MaxRequestBytes,
			wire.HardMaxMessage)
	case o.Type.Type == "" || o.Type.Type == names.AnyType || o.Type.MD5Sum == "" ||
		o.Type.MD5Sum == wire.AnyMD5:
		return o, fmt.Errorf("service %q of type %q, md5sum %q: a service needs definite ones", o.Name,
			o.Type.Type, o.Type.MD5Sum)
	}
	return o, names.CheckType(o.Type.Type)
}

// Service is one advertised service with its clients.
type Service struct {
	node *Node
	svc  *service.Service
}

// Name returns the resolved name.
func (s *Service) Name() string { return s.svc.Name() }

// Close closes the service. Running calls have one second to end, then another second after
// their context is canceled; the goroutine of a handler that returns even later is
// abandoned. A handler must not call Close. The node unregisters the service.
func (s *Service) Close() {
	s.node.dropService(s)
	s.svc.Stop(context.Background())
}

// AdvertiseService advertises a service. Registration happens in the background and is
// retried forever. A node advertises a service once.
func (n *Node) AdvertiseService(o ServiceOptions) (*Service, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	name, err := n.Resolve(o.Name)
	if err != nil {
		return nil, err
	}
	n.graph.mu.Lock()
	defer n.graph.mu.Unlock()
	if n.graph.closed {
		return nil, ErrClosed
	}
	if old := n.graph.services[name]; old != nil {
		have := old.svc.Type()
		return nil, &ConflictError{name, have.Type + "/" + have.MD5Sum, o.Type.Type + "/" + o.Type.MD5Sum}
	}
	ctx, cancel := n.tasks.child()
	s := &Service{
		n,
		service.New(n.calls, name,
			service.Options{Type: o.Type, MaxRequestBytes: o.MaxRequestBytes, Handle: o.Handle}, ctx, cancel),
	}
	n.graph.services[name] = s
	n.reg.Add(rosapi.Key{Kind: rosapi.Service, Name: name}, "", 0, nil)
	return s, nil
}

func (n *Node) service(name string) *Service {
	n.graph.mu.Lock()
	defer n.graph.mu.Unlock()
	return n.graph.services[name]
}

func (n *Node) dropService(s *Service) {
	n.graph.mu.Lock()
	defer n.graph.mu.Unlock()
	if name := s.Name(); n.graph.services[name] == s {
		delete(n.graph.services, name)
		n.reg.Remove(rosapi.Key{Kind: rosapi.Service, Name: name})
	}
}

// CallService calls a service and returns its serialized response. An empty type or md5sum
// stands for any. The error is a *ServiceError if the service refused the call; it matches
// ErrStatus if no node provides the service, and ErrPeer if the connection was refused, for
// example because of another md5sum.
//
// Connecting has a timeout; the wait for the answer is bounded by ctx only.
func (n *Node) CallService(ctx context.Context, name string, t ServiceType, request []byte) ([]byte, error) {
	if len(request) > wire.HardMaxMessage {
		return nil, &wire.TooLargeError{Bytes: int64(len(request)), Limit: wire.HardMaxMessage}
	}
	full, err := n.Resolve(name)
	if err != nil {
		return nil, err
	}
	return n.calls.Call(ctx, full, t, request)
}
