// Package slaveapi answers calls of the slave API: of the master, of other nodes and of tools. It
// has no state, and sees the node through five functions. Package tcpros calls it; nothing else
// does.
package slaveapi

import (
	"context"
	"os"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/publink"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/sublink"
)

// Server answers the calls of one node.
type Server struct {
	Name      string // of the node
	URI       string // of its slave API
	MasterURI string
	Host      string // advertised
	Port      int    // of the TCPROS server
	Log       *zap.Logger

	// sorted by topic
	Publications func() []*publink.Publication
	// sorted by topic
	Subscriptions func() []*sublink.Subscription
	// reports whether the node accepts subscribers of the topic now
	Publishes func(topic string) bool
	// tells that a subscriber takes UDPROS only, which is not served
	UDPOnly func(topic, caller, peer string)
	// reports whether the topic is subscribed to
	PublisherUpdate func(topic string, uris []string) bool
	// nil refuses the request
	Shutdown func(reason, peer string)
}

// caller is who calls.
type caller struct {
	id   string // the name of its node, as it says
	peer string // its address
}

// methods are the calls of the slave API that tools and peers use. Each gets the
// arguments after the caller's ID.
var methods = map[string]func(s *Server, from caller, args []any) any{
	"getPid":           func(*Server, caller, []any) any { return done("", os.Getpid()) },
	"getUri":           func(s *Server, _ caller, _ []any) any { return done("", s.URI) },
	"getName":          func(s *Server, _ caller, _ []any) any { return done("", s.Name) },
	"getMasterUri":     func(s *Server, _ caller, _ []any) any { return done("", s.MasterURI) },
	"getBusInfo":       func(s *Server, _ caller, _ []any) any { return done("", s.busInfo()) },
	"getBusStats":      func(s *Server, _ caller, _ []any) any { return done("", s.busStats()) },
	"getSubscriptions": func(s *Server, _ caller, _ []any) any { return done("", s.subscriptions()) },
	"getPublications":  func(s *Server, _ caller, _ []any) any { return done("", s.publications()) },
	"paramUpdate":      func(*Server, caller, []any) any { return done("", 0) },
	"publisherUpdate":  (*Server).publisherUpdate,
	"requestTopic":     (*Server).requestTopic,
	"shutdown":         (*Server).shutdown,
}

// Answer answers one call. The error is an *xmlrpc.Fault.
func (s *Server) Answer(_ context.Context, peer, method string, args []any) (any, error) {
	answer, ok := methods[method]
	if !ok {
		return nil, &xmlrpc.Fault{Code: -1, Text: method + ": unknown method name"}
	}
	id, ok := rosapi.Arg[string](args, 0)
	if !ok {
		return nil, &xmlrpc.Fault{Code: -1, Text: method + ": the first argument is the caller's ID"}
	}
	return answer(s, caller{id, peer}, args[1:]), nil
}

func done(text string, value any) any { return []any{1, text, value} }

func refused(code int, text string, value any) any { return []any{code, text, value} }

func (s *Server) publisherUpdate(_ caller, args []any) any {
	topic, ok1 := rosapi.Arg[string](args, 0)
	list, ok2 := rosapi.Arg[[]any](args, 1)
	uris := make([]string, 0, len(list))
	for i := range list {
		uri, ok := rosapi.Arg[string](list, i)
		ok2 = ok2 && ok
		uris = append(uris, uri)
	}
	if !ok1 || !ok2 {
		return refused(-1, "ERROR: publisherUpdate takes a topic and a list of URIs", 0)
	}
	if !s.PublisherUpdate(topic, uris) {
		return done("not subscribed", 0) // the subscription was closed a moment ago
	}
	return done("", 0)
}

func (s *Server) requestTopic(from caller, args []any) any {
	topic, ok1 := rosapi.Arg[string](args, 0)
	protocols, ok2 := rosapi.Arg[[]any](args, 1)
	if !ok1 || !ok2 {
		return refused(-1, "ERROR: requestTopic takes a topic and a list of protocols", []any{})
	}
	if !s.Publishes(topic) {
		return refused(-1, "Not a publisher of ["+topic+"]", []any{})
	}
	udp := false
	for i := range protocols {
		p, _ := rosapi.Arg[[]any](protocols, i)
		switch name, _ := rosapi.Arg[string](p, 0); name {
		case "TCPROS":
			return done("ready", []any{"TCPROS", s.Host, s.Port})
		case "UDPROS":
			udp = true
		}
	}
	if udp {
		s.UDPOnly(topic, names.Clip(from.id), from.peer)
	}
	return refused(0, "no supported protocol implementations", []any{})
}

func (s *Server) shutdown(from caller, args []any) any {
	reason, _ := rosapi.Arg[string](args, 0)
	reason = names.Clip(reason)
	if s.Shutdown == nil {
		s.Log.Warn("shutdown request refused", zap.String("peer", from.peer), zap.String("reason", reason))
		return refused(-1, "this node does not let others shut it down", 0)
	}
	s.Log.Warn("Shutdown request received.", zap.String("peer", from.peer), zap.String("reason", reason))
	s.Shutdown(reason, from.peer)
	return done("", 0)
}

func (s *Server) subscriptions() []any {
	rows := []any{}
	for _, sub := range s.Subscriptions() {
		typ, _ := sub.Type()
		rows = append(rows, []any{sub.Topic(), typ})
	}
	return rows
}

func (s *Server) publications() []any {
	rows := []any{}
	for _, p := range s.Publications() {
		typ, _ := p.Type()
		rows = append(rows, []any{p.Topic(), typ})
	}
	return rows
}

// busInfo lists the links in the shape that rosnode parses.
func (s *Server) busInfo() []any {
	rows := []any{}
	for _, p := range s.Publications() {
		for _, l := range p.Rows() {
			rows = append(rows, []any{l.ID, l.CallerID, "o", "TCPROS", p.Topic(), true, l.Title})
		}
	}
	for _, sub := range s.Subscriptions() {
		for _, l := range sub.Rows() {
			if l.Transport != "" {
				rows = append(rows, []any{l.ID, l.URI, "i", l.Transport, sub.Topic(), true, l.Title})
			}
		}
	}
	return rows
}

// busStats has the shape of rospy's answer: publications, subscriptions, services.
func (s *Server) busStats() []any {
	pubs, subs := []any{}, []any{}
	for _, p := range s.Publications() {
		rows, total := []any{}, uint64(0)
		for _, l := range p.Rows() {
			total += l.Bytes
			rows = append(rows, []any{l.ID, wire32(l.Bytes), wire32(l.Frames), true})
		}
		pubs = append(pubs, []any{p.Topic(), wire32(total), rows})
	}
	for _, sub := range s.Subscriptions() {
		rows := []any{}
		for _, l := range sub.Rows() {
			rows = append(rows, []any{l.ID, wire32(l.Bytes), wire32(l.Frames), -1, l.Up})
		}
		subs = append(subs, []any{sub.Topic(), rows})
	}
	return []any{pubs, subs, []any{}}
}

// wire32 truncates a counter to an XML-RPC integer of 32 bits, as roscpp does.
func wire32(n uint64) int { return int(int32(n)) }
