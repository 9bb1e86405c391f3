package stage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Limits of Options.NewNode. A node costs two listening sockets and some goroutines.
const (
	maxNodes    = 256
	maxNodeName = 255
	maxSuffix   = 9 // _play, _play2 and so on are tried before play gives up
	nodeTimeout = time.Second
)

// ManyNodes is a graph with one node for each original publisher, under its own name. Use NewManyNodes.
type ManyNodes struct {
	OneNode // play's own node: for the clock, and for messages recorded without a caller ID
	log     *zap.Logger
	open    func(ctx context.Context, name string) (*tcpros.Node, error)

	byCaller map[string]*tcpros.Node // by caller ID; several caller IDs may share a node
	opened   []*tcpros.Node
	topics   map[*tcpros.Node][]string // advertised topics
}

// NewManyNodes returns a graph whose nodes are opened by open. node publishes the clock, and messages
// that were recorded without a caller ID.
func NewManyNodes(node *tcpros.Node, open func(ctx context.Context, name string) (*tcpros.Node, error),
	log *zap.Logger,
) *ManyNodes {
	return &ManyNodes{
		OneNode: OneNode{node}, log: log, open: open, byCaller: map[string]*tcpros.Node{},
		topics: map[*tcpros.Node][]string{},
	}
}

// Publishers implements Graph.
func (g *ManyNodes) Publishers(ctx context.Context, callers []string) error {
	byName := map[string]*tcpros.Node{"": g.Node, g.Name(): g.Node}
	for _, caller := range callers {
		name := nodeName(caller)
		if byName[name] == nil {
			if len(g.opened) == maxNodes {
				return fmt.Errorf("the bags have more than %d publishers: play them from one node", maxNodes)
			}
			n, err := g.openNode(ctx, name)
			if err != nil {
				return err
			}
			byName[name] = n
			g.opened = append(g.opened, n)
		}
		g.byCaller[caller] = byName[name]
	}
	return nil
}

// openNode opens a node with a name, or with a similar name if that is in use: the master shuts a node
// down when another node registers with the same name.
func (g *ManyNodes) openNode(ctx context.Context, name string) (*tcpros.Node, error) {
	free := name
	for n := 1; ; n++ {
		used, err := g.inUse(ctx, free)
		if err != nil {
			return nil, err
		}
		if !used {
			break
		}
		if n > maxSuffix {
			return nil, fmt.Errorf("the node names %s to %s are all in use", name, free)
		}
		// ADR 0043: a name in use belongs to a driver, which the master would end.
		if free = name + "_play"; n > 1 {
			free += fmt.Sprint(n)
		}
	}
	if free != name {
		g.log.Warn("a node with the name of an original publisher is there already; its messages come from another",
			zap.String("name", name), zap.String("instead", free))
	}
	node, err := g.open(ctx, free)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", free, err)
	}
	return node, nil
}

// inUse asks the master whether there is a node with that name. Nodes of play count before the master
// knows them. Without a master, inUse waits for one.
func (g *ManyNodes) inUse(ctx context.Context, name string) (bool, error) {
	if slices.Contains(g.Names(), name) {
		return true, nil
	}
	for logged := false; ; {
		_, err := g.Master().LookupNode(ctx, name)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, tcpros.ErrStatus):
			return false, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		}
		if !logged {
			logged = true
			g.log.Warn("waiting for the master, to ask which node names are in use", zap.Error(err))
		}
		pacing.Wait(ctx, registerPoll)
	}
}

// nodeName converts a recorded caller ID, which may be any text, to a legal node name. It
// returns "" if that is not possible.
func nodeName(caller string) string {
	legal := func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '/':
			return c
		}
		return '_'
	}
	var parts []string
	for part := range strings.SplitSeq(strings.Map(legal, caller), "/") {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	if base := &parts[len(parts)-1]; !strings.ContainsAny((*base)[:1],
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		*base = "n" + *base // the name of a node begins with a letter
	}
	name := "/" + strings.Join(parts, "/")
	if len(name) > maxNodeName {
		return ""
	}
	return name
}

// Names implements Graph.
func (g *ManyNodes) Names() []string {
	names := []string{g.Name()}
	for _, n := range g.opened {
		names = append(names, n.Name())
	}
	return names
}

// Advertise implements Graph: the node of every original publisher advertises the topic.
func (g *ManyNodes) Advertise(o tcpros.AdvertiseOptions, keys []plan.PublisherID) (Publication, error) {
	var err error
	if o.Topic, err = g.Resolve(o.Topic); err != nil { // only play's own node has the remappings
		return nil, err
	}
	latching := map[*tcpros.Node]bool{}
	var nodes []*tcpros.Node
	for _, k := range keys {
		n := g.byCaller[k.CallerID]
		if _, known := latching[n]; !known {
			nodes = append(nodes, n)
		}
		latching[n] = latching[n] || k.Latching
	}
	if len(nodes) == 0 {
		nodes = append(nodes, g.Node)
		latching[g.Node] = o.Latching
	}
	joint := &jointPublication{graph: g, byNode: map[*tcpros.Node]Publication{}}
	for _, n := range nodes {
		o.Latching = latching[n]
		p, err := OneNode{n}.Advertise(o, nil)
		if err != nil {
			joint.Close()
			return nil, err
		}
		g.topics[n] = append(g.topics[n], o.Topic)
		joint.parts, joint.byNode[n] = append(joint.parts, p), p
	}
	return joint, nil
}

// Registered implements Graph: it waits until the master knows each topic of each node.
func (g *ManyNodes) Registered(ctx context.Context, _ []string) (answered bool) {
	awaitRegistered(ctx, func() (known, registered bool) {
		state, err := g.State(ctx)
		answered = answered || err == nil
		return err == nil, g.registered(&state)
	})
	return answered
}

// registered reports whether the master knows each topic of each node.
func (g *ManyNodes) registered(state *tcpros.SystemState) bool {
	for n, topics := range g.topics {
		for _, t := range topics {
			if !slices.Contains(state.Publishers[t], n.Name()) {
				return false
			}
		}
	}
	return true
}

// Drain implements Graph. All nodes drain at the same time.
func (g *ManyNodes) Drain(ctx context.Context) error {
	errs := make([]error, len(g.opened)+1)
	var wg sync.WaitGroup
	for i, n := range append([]*tcpros.Node{g.Node}, g.opened...) {
		// owner: Drain; ends when the subscribers have read everything, or with ctx.
		wg.Go(func() { errs[i] = n.Drain(ctx) })
	}
	wg.Wait()
	all := tcpros.DrainError{Err: ctx.Err()}
	for _, err := range errs {
		if e := (*tcpros.DrainError)(nil); errors.As(err, &e) {
			all.Subscribers = append(all.Subscribers, e.Subscribers...)
		}
	}
	if len(all.Subscribers) == 0 {
		return nil
	}
	return &all
}

// Close closes the nodes that were opened. They unregister even when play was interrupted.
func (g *ManyNodes) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), nodeTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, n := range g.opened {
		// owner: Close; ends within nodeTimeout.
		wg.Go(func() {
			if err := n.Close(ctx); err != nil {
				g.log.Debug("leaving the graph", zap.String("node", n.Name()), zap.Error(err))
			}
		})
	}
	wg.Wait()
}

// jointPublication is a topic that several nodes advertise.
type jointPublication struct {
	graph  *ManyNodes
	parts  []Publication // not empty
	byNode map[*tcpros.Node]Publication
}

// Topic implements Publication.
func (p *jointPublication) Topic() string { return p.parts[0].Topic() }

// Source implements Publication.
func (p *jointPublication) Source(k plan.PublisherID) Sender {
	if part := p.byNode[p.graph.byCaller[k.CallerID]]; part != nil {
		return part.Source(k)
	}
	return p.parts[0].Source(k) // play's own clock on a recorded topic
}

// Subscribers returns the smallest number of subscribers over the nodes.
func (p *jointPublication) Subscribers() int {
	n := p.parts[0].Subscribers()
	for _, part := range p.parts[1:] {
		n = min(n, part.Subscribers())
	}
	return n
}

// Dropped implements Publication.
func (p *jointPublication) Dropped() uint64 {
	var n uint64
	for _, part := range p.parts {
		n += part.Dropped()
	}
	return n
}

// Stats implements Publication: a subscriber is listed for each node that it reads from.
func (p *jointPublication) Stats() []tcpros.SubscriberStats {
	var all []tcpros.SubscriberStats
	for _, part := range p.parts {
		all = append(all, part.Stats()...)
	}
	return all
}

// UDPOnly implements Publication.
func (p *jointPublication) UDPOnly() []string { return p.nodes(Publication.UDPOnly) }

// Refused implements Publication.
func (p *jointPublication) Refused() []string { return p.nodes(Publication.Refused) }

// nodes returns what list has of each part, once.
func (p *jointPublication) nodes(list func(Publication) []string) (all []string) {
	for _, part := range p.parts {
		all = append(all, list(part)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Room implements Publication.
func (p *jointPublication) Room() bool {
	return !slices.ContainsFunc(p.parts, func(part Publication) bool { return !part.Room() })
}

// Held implements Publication. The frames that one node holds need not be the latest of the topic.
func (p *jointPublication) Held() int {
	if len(p.parts) == 1 {
		return p.parts[0].Held()
	}
	for _, part := range p.parts {
		if part.Held() > 0 {
			return math.MaxInt
		}
	}
	return 0
}

// Linked implements Publication.
func (p *jointPublication) Linked(node string) bool {
	return !slices.ContainsFunc(p.parts, func(part Publication) bool { return !part.Linked(node) })
}

// Close implements Publication.
func (p *jointPublication) Close() {
	for _, part := range p.parts {
		part.Close()
	}
}
