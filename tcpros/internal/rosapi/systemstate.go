package rosapi

import (
	"context"
	"errors"
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
	v, err := m.Raw(ctx, m.api, masterReply, "getSystemState") // goroslib takes three times as long
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
		return SystemState{},
			&CallError{"getSystemState", m.hostport, errors.New("answered no state of a graph"), true}
	}
	return SystemState{parts[0], parts[1], parts[2]}, nil
}

// nodesBy reads rows of a name and a list of nodes, without skipped texts.
func nodesBy(list any) (map[string][]string, bool) {
	rows, ok := list.([]any)
	by := make(map[string][]string, len(rows))
	for i := range rows {
		row, _ := Arg[[]any](rows, i)
		if skippedArg(row, 0) {
			continue
		}
		name, ok1 := Arg[string](row, 0)
		all, ok2 := Arg[[]any](row, 1)
		nodes, ok3 := textList(all)
		ok = ok && ok1 && ok2 && ok3
		by[name] = nodes
	}
	return by, ok
}

// TopicTypes lists all topics whose type the master knows, also those without a
// publisher.
func (m *Master) TopicTypes(ctx context.Context) ([]TopicInfo, error) {
	// goroslib cannot leave out texts that are too long
	return m.topics(ctx, m.api, masterReply, "getTopicTypes")
}
