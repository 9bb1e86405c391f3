package recorder

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/graph"
)

// verifyEvery is how often the master is asked about links that have ended.
const verifyEvery = time.Second

// verifyLosses asks about doubtful losses until ctx is done: what links and messages show is at
// times ambiguous, so the graph is asked before a loss is counted for a publisher.
func (r *session) verifyLosses(ctx context.Context) {
	again := time.NewTicker(verifyEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			r.explainLinks(ctx)
		case <-r.in.Accounts().Doubtful():
			r.judgeNumbers(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// explainLinks asks the master which publishers without a link it still lists.
func (r *session) explainLinks(ctx context.Context) {
	now := time.Now()
	all := r.in.Accounts().Overdue(now)
	if len(all) == 0 {
		return
	}
	if listed := r.graph().Listed(ctx, all); listed != nil {
		r.in.Accounts().Explain(listed, now)
	}
}

// judgeNumbers asks whose the numbers are in which there are holes. A publisher that
// does not answer is taken to number its messages itself, as nearly all do.
func (r *session) judgeNumbers(ctx context.Context) {
	for _, d := range r.in.Accounts().Unverified() {
		foreign := r.graph().PassesOn(ctx, d)
		if ctx.Err() != nil {
			return
		}
		r.in.Accounts().Judge(d, foreign)
		if foreign {
			r.Log.Debug("numbers of messages are those of others: holes do not count", zap.String("topic", d.Topic), zap.String("publisher", d.Publisher))
		}
	}
}

// graph returns what is asked about the graph of nodes.
func (r *session) graph() *graph.Graph {
	return &graph.Graph{Config: graph.Config{
		Node: r.Node, Log: r.Log, Interval: r.PollInterval, Survey: r.survey,
		Lists: r.Select.lists(), Selects: r.Select.selects, Excludes: r.Select.exclude.Match,
		Nodes: r.Select.Nodes, NodePublications: r.Select.NodePublications,
	}}
}
