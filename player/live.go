package player

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/tcpros"
)

// graphQueryGrace is how long play waits for the master's answer to the graph query after
// everything else is ready. Without an answer, play does not wait for subscribers to link.
const graphQueryGrace = time.Second

// liveTopic lists the publishers and subscribers of a topic, without play itself.
type liveTopic struct {
	name                    string
	publishers, subscribers []string
}

// liveTopics returns the topics that nodes other than our own publish or subscribe to.
func liveTopics(state *tcpros.SystemState, topics, own []string) []liveTopic {
	without := func(nodes []string) []string {
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return slices.Contains(own, n) })
		slices.Sort(nodes)
		return slices.Compact(nodes)
	}
	var all []liveTopic
	for _, name := range topics {
		l := liveTopic{name, without(state.Publishers[name]), without(state.Subscribers[name])}
		if len(l.publishers)+len(l.subscribers) > 0 {
			all = append(all, l)
		}
	}
	return all
}

// graphQuery asks the master, before the first message, who subscribes to the played topics
// and who else publishes them: playing into a running robot moves it.
type graphQuery struct {
	state chan *tcpros.SystemState
	stop  context.CancelFunc
}

// queryGraph starts a query to the master. The caller has to call liveTopics.
func (r *run) queryGraph(ctx context.Context) *graphQuery {
	ctx, stop := context.WithCancel(ctx)
	a := &graphQuery{make(chan *tcpros.SystemState, 1), stop}
	// owner: liveTopics; ends with the answer, or with ctx.
	go func() {
		defer close(a.state)
		if state, err := r.graph.State(ctx); err == nil {
			a.state <- &state
		}
	}()
	return a
}

// liveTopics returns the answer, if it arrives in time, and ends the query.
func (r *run) liveTopics(ctx context.Context, a *graphQuery) []liveTopic {
	defer func() {
		a.stop()
		for range a.state { // until it is closed
		}
	}()
	grace := time.NewTimer(graphQueryGrace)
	defer grace.Stop()
	select {
	case state := <-a.state:
		if state != nil {
			return liveTopics(state, r.control.output.published(), r.graph.Names())
		}
	case <-grace.C:
	case <-ctx.Done():
	}
	return nil
}

// logLiveTopics logs the other subscribers and publishers of the played topics.
func (r *run) logLiveTopics(live []liveTopic) {
	var heard, shared []string
	for _, l := range live {
		if len(l.subscribers) > 0 {
			heard = append(heard, l.name+": "+strings.Join(l.subscribers, " "))
		}
		if len(l.publishers) > 0 {
			shared = append(shared, l.name+": "+strings.Join(l.publishers, " "))
		}
	}
	if len(heard) > 0 {
		r.o.Log.Info("these topics have subscribers already", zap.Strings("topics", plan.Abbreviate(heard)))
	}
	if len(shared) > 0 {
		r.o.Log.Warn("others publish these topics, too", zap.Strings("topics", plan.Abbreviate(shared)))
	}
}
