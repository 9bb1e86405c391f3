package graph

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/tcpros"
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
			g.Log.Debug("another node numbers the messages of this publisher: gaps do not count",
				zap.String("topic", string(k.Topic)), zap.String("publisher", k.Publisher))
		}
	}
}

// answerTimeout bounds one question about a publisher.
const answerTimeout = 2 * time.Second

// stillListed asks the master which of the publishers it still lists. The address has to be the same as well,
// because another process may have taken the name. It returns nil if the master does not answer.
func (g *Graph) stillListed(ctx context.Context, all []loss.PublisherKey) map[loss.PublisherKey]bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	state, err := g.Node.Master().SystemState(ctx)
	if err != nil {
		g.Log.Debug("the master does not say which publishers are left", zap.Error(err))
		return nil // next time
	}
	uris := map[string]string{}
	listed := make(map[loss.PublisherKey]bool, len(all))
	for _, k := range all {
		if !slices.Contains(state.Publishers[string(k.Topic)], k.Publisher) {
			listed[k] = false
			continue
		}
		uri, asked := uris[k.Publisher]
		if !asked {
			if uri, err = g.Node.Master().LookupNode(ctx, k.Publisher); err != nil &&
				!errors.Is(err, tcpros.ErrStatus) {
				return nil
			}
			uris[k.Publisher] = uri
		}
		listed[k] = uri == k.URI
	}
	return listed
}

// isRelay reports whether the node of a publisher publishes messages of other nodes and keeps their numbers.
// Such nodes subscribe to topics of any type, as throttle, drop, mux and relay of topic_tools do, or play
// bags.
func (g *Graph) isRelay(ctx context.Context, k loss.PublisherKey) bool {
	name := k.Publisher
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if g.IsPlayer(ctx, name) {
		return true
	}
	topics, err := g.Node.Master().NodeSubscriptions(ctx, k.URI)
	if err != nil {
		g.Log.Debug("the node does not say what it subscribes to", zap.String("node", name), zap.Error(err))
	}
	for _, t := range topics {
		if t.Type == "*" {
			return true
		}
	}
	return false
}

// IsPlayer reports whether a node plays bags. One whose services the master does not tell is none.
func (g *Graph) IsPlayer(ctx context.Context, name string) bool {
	if base := name[strings.LastIndexByte(name, '/')+1:]; strings.HasPrefix(base, "play_") {
		return true // the name of rosbag play and goplay, which may have ended; goplay may have no services
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := g.Node.Master().LookupService(ctx, name+"/pause_playback")
	return err == nil
}
