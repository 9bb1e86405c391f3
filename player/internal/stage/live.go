package stage

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/tcpros"
)

// queryGrace is how long play waits for the master's answer to a Query after everything else is
// ready. Without an answer, play does not wait for subscribers to link.
const queryGrace = time.Second

// LiveTopic lists the publishers and subscribers of a topic other than play itself.
type LiveTopic struct {
	Name                    string
	Publishers, Subscribers []string
}

// LiveTopics returns the topics that nodes other than our own publish or subscribe to.
func LiveTopics(state *tcpros.SystemState, topics, own []string) []LiveTopic {
	without := func(nodes []string) []string {
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return slices.Contains(own, n) })
		slices.Sort(nodes)
		return slices.Compact(nodes)
	}
	var all []LiveTopic
	for _, name := range topics {
		l := LiveTopic{name, without(state.Publishers[name]), without(state.Subscribers[name])}
		if len(l.Publishers)+len(l.Subscribers) > 0 {
			all = append(all, l)
		}
	}
	return all
}

// Query asks the master, before the first message, who subscribes to the played topics and who else
// publishes them: playing into a running robot moves it.
type Query struct {
	graph Graph
	state chan *tcpros.SystemState
	stop  context.CancelFunc
}

// Ask starts a query to the master. The caller has to call Live.
func Ask(ctx context.Context, g Graph) *Query {
	ctx, stop := context.WithCancel(ctx)
	q := &Query{g, make(chan *tcpros.SystemState, 1), stop}
	// owner: Live; ends with the answer, or with ctx.
	go func() {
		defer close(q.state)
		if state, err := g.State(ctx); err == nil {
			q.state <- &state
		}
	}()
	return q
}

// Live returns what the answer says of the published topics, if it arrives in time, and ends the
// query.
func (q *Query) Live(ctx context.Context, published []string) []LiveTopic {
	defer func() {
		q.stop()
		for range q.state { // until it is closed
		}
	}()
	grace := time.NewTimer(queryGrace)
	defer grace.Stop()
	select {
	case state := <-q.state:
		if state != nil {
			return LiveTopics(state, published, q.graph.Names())
		}
	case <-grace.C:
	case <-ctx.Done():
	}
	return nil
}

// LogLive logs the other subscribers and publishers of the played topics.
func LogLive(live []LiveTopic, log *zap.Logger) {
	var heard, shared []string
	for _, l := range live {
		if len(l.Subscribers) > 0 {
			heard = append(heard, l.Name+": "+strings.Join(l.Subscribers, " "))
		}
		if len(l.Publishers) > 0 {
			shared = append(shared, l.Name+": "+strings.Join(l.Publishers, " "))
		}
	}
	if len(heard) > 0 {
		log.Info("these topics have subscribers already", zap.Strings("topics", plan.Abbreviate(heard)))
	}
	if len(shared) > 0 {
		log.Warn("others publish these topics, too", zap.Strings("topics", plan.Abbreviate(shared)))
	}
}
