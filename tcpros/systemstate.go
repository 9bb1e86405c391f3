package tcpros

import (
	"context"
	"net/http"

	"github.com/aler9/goroslib/pkg/apimaster"
)

// SystemState is the node graph as the master knows it: the nodes behind each topic
// and service.
type SystemState struct {
	Publishers  map[string][]string // by topic
	Subscribers map[string][]string // by topic
	Services    map[string][]string // by service
}

// SystemState asks for the whole graph.
func (m *Master) SystemState(ctx context.Context) (SystemState, error) {
	var s SystemState
	err := m.call(ctx, m.hostport, masterReply, "getSystemState", func(hc *http.Client) error {
		state, err := apimaster.NewClient(m.hostport, m.callerID, hc).GetSystemState()
		if err != nil {
			return err
		}
		s = SystemState{nodesBy(state.PublishedTopics), nodesBy(state.SubscribedTopics), nodesBy(state.ProvidedServices)}
		return nil
	})
	return s, err
}

func nodesBy(list []apimaster.SystemStateEntry) map[string][]string {
	nodes := make(map[string][]string, len(list))
	for _, e := range list {
		nodes[e.Name] = e.Nodes
	}
	return nodes
}

// TopicTypes lists all topics whose type the master knows, also those without a
// publisher.
func (m *Master) TopicTypes(ctx context.Context) ([]TopicInfo, error) {
	var all []TopicInfo
	err := m.call(ctx, m.hostport, masterReply, "getTopicTypes", func(hc *http.Client) error {
		types, err := apimaster.NewClient(m.hostport, m.callerID, hc).GetTopicTypes()
		for _, t := range types {
			all = append(all, TopicInfo{t.Name, t.Type})
		}
		return err
	})
	return all, err
}
