package tcpros

import (
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/tcpros/internal/publink"
	"github.com/gorosbag/gorosbag/tcpros/internal/slaveapi"
	"github.com/gorosbag/gorosbag/tcpros/internal/sublink"
)

// slave returns what answers calls of the node's slave API.
func (n *Node) slave() *slaveapi.Server {
	return &slaveapi.Server{
		Name: n.name, URI: n.addr.uri, MasterURI: n.master.URI(), Host: n.addr.host, Port: n.addr.port, Log: n.log, Shutdown: n.onShutdown,
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
	}
}
