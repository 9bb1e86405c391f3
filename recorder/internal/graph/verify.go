package graph

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// verifyEvery is how often the master is asked about links that have ended.
const verifyEvery = time.Second

// Accounts has the losses to verify, and gets the results.
type Accounts interface {
	// Gaps returns a channel that gets a token when Unverified returns publishers.
	Gaps() <-chan struct{}
	// Overdue returns the publishers that have been without a link for long.
	Overdue(now time.Time) []loss.PublisherKey
	// SetListed sets whether the master lists publishers that are without a link.
	SetListed(listed map[loss.PublisherKey]bool, now time.Time)
	// Unverified returns the publishers with gaps in the numbers of their messages of which it is not known
	// whether they number their messages themselves.
	Unverified() []loss.PublisherKey
	// SetForeign sets whether another node numbers the messages of a publisher.
	SetForeign(k loss.PublisherKey, foreign bool)
}

// Verify verifies losses until ctx is done. Not every link that ends and not every gap in the numbers of
// messages is a loss, so the master and the nodes are asked before a loss is counted.
func (g *Graph) Verify(ctx context.Context, accounts Accounts) {
	again := time.NewTicker(verifyEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			g.CheckLinks(ctx, accounts)
		case <-accounts.Gaps():
			g.CheckNumbers(ctx, accounts)
		case <-ctx.Done():
			return
		}
	}
}

// CheckLinks asks the master which publishers without a link it still lists.
func (g *Graph) CheckLinks(ctx context.Context, accounts Accounts) {
	now := time.Now()
	all := accounts.Overdue(now)
	if len(all) == 0 {
		return
	}
	if listed := g.stillListed(ctx, all); listed != nil {
		accounts.SetListed(listed, now)
	}
}

// CheckNumbers finds out whether publishers with gaps in their numbers number their messages themselves, as
// nearly all do. A publisher that does not answer counts as one of these.
func (g *Graph) CheckNumbers(ctx context.Context, accounts Accounts) {
	for _, k := range accounts.Unverified() {
		foreign := g.isRelay(ctx, k)
		if ctx.Err() != nil {
			return
		}
		accounts.SetForeign(k, foreign)
		if foreign {
			g.Log.Debug("another node numbers the messages of this publisher: gaps do not count", zap.String("topic", k.Topic), zap.String("publisher", k.Publisher))
		}
	}
}
