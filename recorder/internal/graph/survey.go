package graph

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
)

// A master may list thousands of topics of nodes that have crashed: it never forgets them. So
// when it lists many new ones their nodes are tried before the topics are registered, which
// takes a moment each. The limits keep that from holding up what it is to speed up.
const (
	surveyFrom    = 200                    // new topics; fewer are registered as soon as they could be told apart
	SurveyTimeout = 500 * time.Millisecond // for all nodes together
	surveyShare   = 4                      // of that for one: its machine may be gone
	surveyCalls   = 32                     // nodes that are tried at the same time
)

// nodeState is what the survey has found out about a node.
type nodeState int

const (
	nodeUnknown nodeState = iota // there was no time
	nodeLive                     // its machine accepts connections to it
	nodeDead
)

// sortByLiveness puts topics with live publishers first and returns how many those are.
// Topics of nodes that are known to be dead come last. Among equals the nodes take turns, so
// that one with thousands of topics does not hold up another with one.
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
	type rank struct{ state, turn int }
	ranks := make(map[string]rank, len(names))
	turns := map[string]int{} // by node
	for _, name := range names {
		best, of := nodeDead+1, ""
		for _, node := range state.Publishers[name] {
			if s := [...]nodeState{nodeUnknown: 1, nodeLive: 0, nodeDead: 2}[nodes[node]]; s < best {
				best, of = s, node
			}
		}
		ranks[name] = rank{int(best), turns[of]}
		turns[of]++
		if best == 0 {
			live++
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		x, y := ranks[a], ranks[b]
		if x.state != y.state {
			return x.state - y.state
		}
		return x.turn - y.turn
	})
	return live
}

// tryNodes tries the nodes and sets their states, as far as time permits.
func (g *Graph) tryNodes(ctx context.Context, nodes map[string]nodeState) {
	ctx, cancel := context.WithTimeout(ctx, g.Survey)
	defer cancel()
	queue := make(chan string, len(nodes))
	for node := range nodes {
		queue <- node
	}
	close(queue)
	var mu sync.Mutex // guards nodes
	hosts := &dialed{master: g.Node.Master(), timeout: g.Survey / surveyShare, state: map[string]nodeState{}}
	var wg sync.WaitGroup
	for range min(surveyCalls, len(nodes)) {
		// owner: tryNodes; ends when the queue is empty or the time is over.
		wg.Go(func() {
			for node := range queue {
				uri, err := g.Node.Master().LookupNode(ctx, node)
				if ctx.Err() != nil {
					return
				}
				state := nodeDead // the master lists it and does not know it
				if err == nil {
					state = hosts.try(ctx, uri)
				}
				mu.Lock()
				nodes[node] = state
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// dialed remembers which slave APIs accept connections.
type dialed struct {
	master  *tcpros.Master
	timeout time.Duration

	mu    sync.Mutex
	state map[string]nodeState // by URI
}

func (d *dialed) try(ctx context.Context, uri string) nodeState {
	d.mu.Lock()
	state, tried := d.state[uri]
	d.mu.Unlock()
	if tried {
		return state
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	switch accepts, known := d.master.Accepts(ctx, uri); {
	case accepts:
		state = nodeLive
	case !known:
		state = nodeUnknown
	default:
		state = nodeDead
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state[uri] = state
	return state
}
