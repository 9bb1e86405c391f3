package player

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// liveGrace is how much longer than everything else play waits for the master to tell
// who is in the graph. It is for the warning only.
const liveGrace = 100 * time.Millisecond

// liveTopic is who is at a topic, apart from play itself.
type liveTopic struct {
	name                    string
	publishers, subscribers []string
}

// others returns those of the topics that somebody publishes or subscribes to.
func others(state *tcpros.SystemState, topics, own []string) []liveTopic {
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

// announcement says, before the first message, who will hear play and who else
// publishes what it publishes: playing into a living robot moves it.
type announcement struct {
	state chan *tcpros.SystemState
	stop  context.CancelFunc
}

// ask begins to ask the master. say has to follow.
func (r *run) ask(ctx context.Context) *announcement {
	ctx, stop := context.WithCancel(ctx)
	a := &announcement{make(chan *tcpros.SystemState, 1), stop}
	// owner: say; ends with the answer, or with ctx.
	go func() {
		defer close(a.state)
		if state, err := r.graph.State(ctx); err == nil {
			a.state <- &state
		}
	}()
	return a
}

// say logs the answer, unless it does not come.
func (r *run) say(ctx context.Context, a *announcement) {
	defer func() {
		a.stop()
		for range a.state { // until it is closed
		}
	}()
	grace := time.NewTimer(liveGrace)
	defer grace.Stop()
	select {
	case state := <-a.state:
		if state != nil {
			r.warn(others(state, r.plan.published(), r.graph.Names()))
		}
	case <-grace.C:
	case <-ctx.Done():
	}
}

// warn logs who is there.
func (r *run) warn(live []liveTopic) {
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
		r.o.Log.Info("these topics have subscribers already", zap.Strings("topics", few(heard)))
	}
	if len(shared) > 0 {
		r.o.Log.Warn("others publish these topics, too", zap.Strings("topics", few(shared)))
	}
}

// few keeps a line readable.
func few(list []string) []string {
	const most = 8
	if len(list) <= most {
		return list
	}
	return append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
}
