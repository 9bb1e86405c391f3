package graph

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// verifyEvery is how often the master is asked about links that have ended.
const verifyEvery = time.Second

// Accounts is what Verify asks for doubtful losses, and what gets the answers.
type Accounts interface {
	// Doubtful returns a channel that gets a token when Unverified returns publishers.
	Doubtful() <-chan struct{}
	// Overdue returns the publishers that have been without a link for long.
	Overdue(now time.Time) []loss.Doubt
	// Explain notes whether the master lists publishers that are without a link.
	Explain(listed map[loss.Doubt]bool, now time.Time)
	// Unverified returns the publishers with holes in their numbers, if it is not known who numbers
	// the messages.
	Unverified() []loss.Doubt
	// Judge notes whether the numbers of a publisher are those of others.
	Judge(about loss.Doubt, foreign bool)
}

// Verify asks about doubtful losses until ctx is done. A link that ended, or a hole in the numbers of
// messages, is not always a loss, so the graph is asked before a loss is counted.
func (g *Graph) Verify(ctx context.Context, accounts Accounts) {
	again := time.NewTicker(verifyEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			g.ExplainLinks(ctx, accounts)
		case <-accounts.Doubtful():
			g.JudgeNumbers(ctx, accounts)
		case <-ctx.Done():
			return
		}
	}
}

// ExplainLinks asks the master which publishers without a link it still lists.
func (g *Graph) ExplainLinks(ctx context.Context, accounts Accounts) {
	now := time.Now()
	all := accounts.Overdue(now)
	if len(all) == 0 {
		return
	}
	if listed := g.listedOf(ctx, all); listed != nil {
		accounts.Explain(listed, now)
	}
}

// JudgeNumbers finds out whether publishers with holes in their numbers number their messages themselves.
// A publisher that does not answer counts as one that does, as nearly all do.
func (g *Graph) JudgeNumbers(ctx context.Context, accounts Accounts) {
	for _, d := range accounts.Unverified() {
		foreign := g.passesOn(ctx, d)
		if ctx.Err() != nil {
			return
		}
		accounts.Judge(d, foreign)
		if foreign {
			g.Log.Debug("numbers of messages are those of others: holes do not count", zap.String("topic", d.Topic), zap.String("publisher", d.Publisher))
		}
	}
}
