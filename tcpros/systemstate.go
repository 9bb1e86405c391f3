package tcpros

import (
	"context"
	"errors"
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
	v, err := m.raw(ctx, m.uri, masterReply, "getSystemState") // goroslib takes three times as long
	if err != nil {
		return SystemState{}, err
	}
	var parts [3]map[string][]string
	lists, _ := v.([]any)
	ok := len(lists) == len(parts)
	for i := 0; ok && i < len(parts); i++ {
		parts[i], ok = nodesBy(lists[i])
	}
	if !ok {
		return SystemState{}, &CallError{"getSystemState", m.hostport, errors.New("answered no state of a graph"), true}
	}
	return SystemState{parts[0], parts[1], parts[2]}, nil
}

// nodesBy reads rows of a name and a list of nodes.
func nodesBy(list any) (map[string][]string, bool) {
	rows, ok := list.([]any)
	by := make(map[string][]string, len(rows))
	for i := range rows {
		row, _ := arg[[]any](rows, i)
		name, ok1 := arg[string](row, 0)
		all, ok2 := arg[[]any](row, 1)
		ok = ok && ok1 && ok2
		nodes := make([]string, len(all))
		for k := range all {
			if nodes[k], ok1 = arg[string](all, k); !ok1 {
				ok = false
			}
		}
		by[name] = nodes
	}
	return by, ok
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
