package tcpros

import (
	"context"
	"os"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// slaveMethods are the calls of the slave API that tools and peers use. Each gets the
// arguments after the caller's ID.
var slaveMethods = map[string]func(n *Node, peer string, args []any) any{
	"getPid":           func(*Node, string, []any) any { return done("", os.Getpid()) },
	"getUri":           func(n *Node, _ string, _ []any) any { return done("", n.uri) },
	"getName":          func(n *Node, _ string, _ []any) any { return done("", n.name) },
	"getMasterUri":     func(n *Node, _ string, _ []any) any { return done("", n.master.URI()) },
	"getBusInfo":       func(n *Node, _ string, _ []any) any { return done("", n.busInfo()) },
	"getBusStats":      func(n *Node, _ string, _ []any) any { return done("", n.busStats()) },
	"getSubscriptions": func(n *Node, _ string, _ []any) any { return done("", n.subscriptions()) },
	"getPublications":  func(n *Node, _ string, _ []any) any { return done("", n.publications()) },
	"paramUpdate":      func(*Node, string, []any) any { return done("", 0) },
	"publisherUpdate":  (*Node).publisherUpdate,
	"requestTopic":     (*Node).requestTopic,
	"shutdown":         (*Node).shutdown,
}

// slave answers one call.
func (n *Node) slave(_ context.Context, peer, method string, args []any) (any, error) {
	answer, ok := slaveMethods[method]
	if !ok {
		return nil, &xmlrpc.Fault{Code: -1, Text: method + ": unknown method name"}
	}
	if _, ok := rosapi.Arg[string](args, 0); !ok {
		return nil, &xmlrpc.Fault{Code: -1, Text: method + ": the first argument is the caller's ID"}
	}
	return answer(n, peer, args[1:]), nil
}

func done(text string, value any) any { return []any{1, text, value} }

func refused(code int, text string, value any) any { return []any{code, text, value} }

func (n *Node) publisherUpdate(_ string, args []any) any {
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
	if !n.reg.PublisherUpdate(topic, uris) {
		return done("not subscribed", 0) // closed a moment ago
	}
	return done("", 0)
}

func (n *Node) requestTopic(_ string, args []any) any {
	topic, ok1 := rosapi.Arg[string](args, 0)
	protocols, ok2 := rosapi.Arg[[]any](args, 1)
	if !ok1 || !ok2 {
		return refused(-1, "ERROR: requestTopic takes a topic and a list of protocols", []any{})
	}
	if p := n.Publication(topic); p == nil {
		return refused(-1, "Not a publisher of ["+topic+"]", []any{})
	}
	for i := range protocols {
		p, _ := rosapi.Arg[[]any](protocols, i)
		if name, _ := rosapi.Arg[string](p, 0); name == "TCPROS" {
			return done("ready", []any{"TCPROS", n.host, n.port})
		}
	}
	return refused(0, "no supported protocol implementations", []any{})
}

func (n *Node) shutdown(peer string, args []any) any {
	reason, _ := rosapi.Arg[string](args, 0)
	reason = names.Clip(reason)
	if n.onShutdown == nil {
		n.log.Warn("shutdown request refused", zap.String("peer", peer), zap.String("reason", reason))
		return refused(-1, "this node does not let others shut it down", 0)
	}
	n.log.Warn("shutdown request received", zap.String("peer", peer), zap.String("reason", reason))
	n.onShutdown(reason, peer)
	return done("", 0)
}

func (n *Node) subscriptions() []any {
	rows := []any{}
	for _, s := range n.allSubscriptions() {
		rows = append(rows, []any{s.topic, s.opts.Type})
	}
	return rows
}

func (n *Node) publications() []any {
	rows := []any{}
	for _, p := range n.allPublications() {
		typ, _ := p.out.Type()
		rows = append(rows, []any{p.Topic(), typ})
	}
	return rows
}

// busInfo lists the links in the shape that rosnode parses.
func (n *Node) busInfo() []any {
	rows := []any{}
	for _, p := range n.allPublications() {
		for _, l := range p.out.Rows() {
			rows = append(rows, []any{l.ID, l.CallerID, "o", "TCPROS", p.Topic(), true, l.Title})
		}
	}
	for _, s := range n.allSubscriptions() {
		for _, l := range s.allLinks() {
			if title := l.title.Load(); title != nil && l.isUp.Load() {
				rows = append(rows, []any{l.id, l.uri, "i", title.transport, s.topic, true, title.text})
			}
		}
	}
	return rows
}

// busStats has the shape of rospy's answer: publications, subscriptions, services.
func (n *Node) busStats() []any {
	pubs, subs := []any{}, []any{}
	for _, p := range n.allPublications() {
		rows, total := []any{}, uint64(0)
		for _, l := range p.out.Rows() {
			total += l.Bytes
			rows = append(rows, []any{l.ID, wire32(l.Bytes), wire32(l.Frames), true})
		}
		pubs = append(pubs, []any{p.Topic(), wire32(total), rows})
	}
	for _, s := range n.allSubscriptions() {
		rows := []any{}
		for _, l := range s.allLinks() {
			rows = append(rows, []any{l.id, wire32(l.stats.bytes.Load()), wire32(l.stats.frames.Load()), -1, l.isUp.Load()})
		}
		subs = append(subs, []any{s.topic, rows})
	}
	return []any{pubs, subs, []any{}}
}

// wire32 truncates a counter to an XML-RPC integer of 32 bits, as roscpp does.
func wire32(n uint64) int { return int(int32(n)) }
