// Package testgraph is a graph of nodes for tests: a master, and the slave API of all nodes.
package testgraph

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// Graph is a master and the slave API of all nodes at once.
type Graph struct {
	URI string

	Mu            sync.Mutex          // guards the fields below
	Away          bool                // the master answers nothing
	Publishers    map[string][]string // by topic
	Nodes         map[string]string   // slave URIs
	Services      map[string]bool
	Params        map[string]any // by key
	Subscriptions []any          // of every node
	Registered    []string       // topics in the order of their registration by subscribers
	Listed        int            // how often the topics were asked for

	Registers func(topic string) // if set, is called before a registration is answered, without the lock
}

// New starts a graph that ends with the test.
func New(t *testing.T) *Graph {
	t.Helper()
	g := &Graph{Nodes: map[string]string{}}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.URI = "http://" + l.Addr().String() + "/"
	server := xmlrpc.NewServer(g.answer, xmlrpc.ServerOptions{})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l) // until it is closed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return g
}

func (g *Graph) answer(_ context.Context, _, method string, args []any) (any, error) {
	g.Mu.Lock()
	registers := g.Registers
	g.Mu.Unlock()
	if method == "registerSubscriber" && registers != nil {
		registers(args[1].(string))
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if g.Away {
		return nil, errors.New("not now")
	}
	unknown := []any{-1, "unknown", 0}
	switch method {
	case "getSystemState":
		topics := []any{}
		for topic, nodes := range g.Publishers {
			list := []any{}
			for _, n := range nodes {
				list = append(list, n)
			}
			topics = append(topics, []any{topic, list})
		}
		return []any{1, "", []any{topics, []any{}, []any{}}}, nil
	case "getPublishedTopics":
		g.Listed++
		topics := []any{}
		for _, topic := range slices.Sorted(maps.Keys(g.Publishers)) {
			topics = append(topics, []any{topic, "test/Numbered"})
		}
		return []any{1, "", topics}, nil
	case "registerSubscriber":
		topic := args[1].(string)
		g.Registered = append(g.Registered, topic)
		g.Nodes[args[0].(string)] = args[3].(string)
		uris := []any{}
		for _, n := range g.Publishers[topic] {
			uris = append(uris, g.Nodes[n])
		}
		return []any{1, "", uris}, nil
	case "getPid":
		return []any{1, "", 1}, nil
	case "lookupNode":
		if uri := g.Nodes[args[1].(string)]; uri != "" {
			return []any{1, "", uri}, nil
		}
	case "lookupService":
		if g.Services[args[1].(string)] {
			return []any{1, "", "rosrpc://127.0.0.1:1"}, nil
		}
	case "getParam":
		if value, ok := g.Params[args[1].(string)]; ok {
			return []any{1, "", value}, nil
		}
	case "getSubscriptions":
		return []any{1, "", g.Subscriptions}, nil
	}
	return unknown, nil
}
