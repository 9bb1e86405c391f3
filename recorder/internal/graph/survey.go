package graph

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// A master never forgets the topics of nodes that have crashed, and may list thousands of them. Each
// registration takes a moment. So if many listed topics are new, a survey first tries to connect to their
// nodes, and topics of live nodes are registered first. The survey takes time, too, so it has limits.
const (
	surveyFrom    = 200                    // new topics; registering fewer takes no longer than a survey
	SurveyTimeout = 500 * time.Millisecond // the longest time for all nodes together
	surveyShare   = 4                      // one node has 1/surveyShare of that time: its machine may be gone
	surveyCalls   = 32                     // nodes that are tried at the same time
)

// nodeState is what the survey has found out about a node. Topics are registered in this order.
type nodeState int

const (
	nodeLive    nodeState = iota // accepts connections
	nodeUnknown                  // not tried in time, or not known whether it accepts connections
	nodeDead                     // refuses connections, or the master does not know its address
	noNode                       // for a topic that has lost its publishers since it was listed
)

// sortByLiveness puts topics with live publishers first, and those whose publishers are all dead last. It
// returns how many topics have a live publisher. Within each group the nodes take turns, so that a node
// with thousands of topics does not hold up a node with one.
func (g *Graph) sortByLiveness(ctx context.Context, names []string) (live int) {
	state, err := g.Node.Master().SystemState(ctx)
	if err != nil {
		return 0
	}
	nodes := map[string]nodeState{}
	for _, name := range names {
		for _, node := range state.Publishers[name] {
			nodes[node] = nodeUnknown
		}
	}
	g.tryNodes(ctx, nodes)
	type rank struct {
		state nodeState
		turn  int
	}
	ranks := make(map[string]rank, len(names))
	turns := map[string]int{} // by node
	for _, name := range names {
		best, of := noNode, ""
		for _, node := range state.Publishers[name] {
			if s := nodes[node]; s < best {
				best, of = s, node
			}
		}
		ranks[name] = rank{best, turns[of]}
		turns[of]++
		if best == nodeLive {
			live++
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		x, y := ranks[a], ranks[b]
		return cmp.Or(cmp.Compare(x.state, y.state), cmp.Compare(x.turn, y.turn))
	})
	return live
}

// tryNodes tries to connect to the nodes and sets their states, until the time of the survey is over.
func (g *Graph) tryNodes(ctx context.Context, nodes map[string]nodeState) {
	ctx, cancel := context.WithTimeout(ctx, g.Survey)
	defer cancel()
	queue := make(chan string, len(nodes))
	for node := range nodes {
		queue <- node
	}
	close(queue)
	var mu sync.Mutex               // guards the maps
	byURI := map[string]nodeState{} // several nodes may share a slave API
	var wg sync.WaitGroup
	for range min(surveyCalls, len(nodes)) {
		// owner: tryNodes; ends when the queue is empty or the time is over.
		wg.Go(func() {
			for node := range queue {
				uri, err := g.Node.Master().LookupNode(ctx, node)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				state, tried := byURI[uri]
				mu.Unlock()
				switch {
				case err != nil:
					state = nodeDead // the master lists the node for a topic, and does not know its address
				case !tried:
					state = g.try(ctx, uri)
				}
				mu.Lock()
				nodes[node], byURI[uri] = state, state
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// try tries to connect to a slave API.
func (g *Graph) try(ctx context.Context, uri string) nodeState {
	ctx, cancel := context.WithTimeout(ctx, g.Survey/surveyShare)
	defer cancel()
	switch accepts, known := g.Node.Master().Accepts(ctx, uri); {
	case accepts:
		return nodeLive
	case !known:
		return nodeUnknown
	}
	return nodeDead
}
