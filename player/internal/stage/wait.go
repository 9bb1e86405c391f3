package stage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
)

// subscriberPoll is how often WaitForSubscribers checks for subscribers, missingReport how
// often it logs the topics that have none. linkPoll is how often WaitForLinks checks for links.
const (
	linkPoll       = 5 * time.Millisecond
	subscriberPoll = 20 * time.Millisecond
	missingReport  = 3 * time.Second

	goneCalls = 16 // subscribers that are tried at the same time
)

// WaitError says which topics had no subscriber when Options.WaitTimeout was over.
type WaitError struct {
	Topics []string
	After  time.Duration
}

// Error implements error.
func (e *WaitError) Error() string {
	return fmt.Sprintf("no subscriber within %v: %s", e.After, strings.Join(plan.Abbreviate(e.Topics), ", "))
}

// WaitForSubscribers returns when each of topics has a subscriber, or ctx ended. With a
// timeout it does not wait longer and returns a *WaitError.
func WaitForSubscribers(ctx context.Context, topics []Publication, timeout time.Duration,
	log *zap.Logger,
) error {
	poll := time.NewTicker(subscriberPoll)
	defer poll.Stop()
	start := time.Now()
	for reported := start; ; {
		missing := WithoutSubscriber(topics)
		if len(missing) == 0 {
			return nil
		}
		if timeout > 0 && time.Since(start) >= timeout {
			return &WaitError{missing, timeout}
		}
		if time.Since(reported) >= missingReport {
			reported = time.Now()
			log.Info("still waiting for subscribers", zap.Strings("topics", plan.Abbreviate(missing)))
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// WaitForLinks returns when the subscribers that the master lists are linked, but after the timeout at
// the latest. A node learns from the master that play publishes, and then asks play for a link: with
// roscpp that takes up to 300 ms, and what is published before does not reach it. Subscribers without
// a link by then are logged and not waited for again. The master goes on to list a node that has
// crashed: play does not wait for such a node.
func WaitForLinks(ctx context.Context, g Graph, topics []Publication, live []LiveTopic, timeout time.Duration,
	log *zap.Logger,
) {
	deadline := time.Now().Add(timeout)
	published := map[string]Publication{}
	for _, t := range topics {
		published[t.Topic()] = t
	}
	live = withoutLink(published, live)
	gone := findGone(ctx, g, live)
	defer gone.end(log)
	for ; ; pacing.Wait(ctx, linkPoll) {
		live = gone.without(withoutLink(published, live))
		if len(live) == 0 || ctx.Err() != nil {
			return
		}
		if !time.Now().Before(deadline) {
			break
		}
	}
	var missing []string
	for _, l := range live {
		missing = append(missing, l.Name+": "+strings.Join(l.Subscribers, " "))
	}
	log.Warn("subscribers that the master lists have not connected: play begins without them",
		zap.Duration("after", timeout), zap.Strings("topics", plan.Abbreviate(missing)))
}

// withoutLink returns the topics that have subscribers without a link, with these subscribers only.
func withoutLink(published map[string]Publication, live []LiveTopic) (left []LiveTopic) {
	for _, l := range live {
		pub, ok := published[l.Name]
		if !ok {
			continue
		}
		l.Subscribers = slices.DeleteFunc(slices.Clone(l.Subscribers), pub.Linked)
		if len(l.Subscribers) > 0 {
			left = append(left, l)
		}
	}
	return left
}

// goneNodes collects the listed subscribers that do not run any more. It is for concurrent use.
type goneNodes struct {
	cancel context.CancelFunc
	tries  sync.WaitGroup

	mu    sync.Mutex
	nodes map[string]bool
}

// findGone starts to find out which subscribers are gone. The caller has to call end.
func findGone(ctx context.Context, g Graph, live []LiveTopic) *goneNodes {
	var all []string
	for _, l := range live {
		all = append(all, l.Subscribers...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	queue := make(chan string, len(all))
	for _, node := range all {
		queue <- node
	}
	close(queue)
	ctx, cancel := context.WithCancel(ctx)
	gone := &goneNodes{cancel: cancel, nodes: map[string]bool{}}
	for range min(goneCalls, len(all)) {
		// owner: end; ends when the queue is empty, or with ctx.
		gone.tries.Go(func() {
			for node := range queue {
				if g.Gone(ctx, node) {
					gone.add(node)
				}
			}
		})
	}
	return gone
}

func (g *goneNodes) add(node string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.nodes[node] = true
}

// end stops the search, and logs the nodes that are gone.
func (g *goneNodes) end(log *zap.Logger) {
	g.cancel()
	g.tries.Wait()
	if len(g.nodes) > 0 {
		log.Warn("subscribers that the master lists do not run any more: play does not wait for them",
			zap.Strings("nodes", plan.Abbreviate(slices.Sorted(maps.Keys(g.nodes)))))
	}
}

// without returns the topics that have subscribers that still run, with these subscribers only.
func (g *goneNodes) without(live []LiveTopic) (left []LiveTopic) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range live {
		l.Subscribers = slices.DeleteFunc(l.Subscribers, func(n string) bool { return g.nodes[n] })
		if len(l.Subscribers) > 0 {
			left = append(left, l)
		}
	}
	return left
}

// WithoutSubscriber returns the names of the topics without a subscriber.
func WithoutSubscriber(topics []Publication) []string {
	var missing []string
	for _, t := range topics {
		if t.Subscribers() == 0 {
			missing = append(missing, t.Topic())
		}
	}
	slices.Sort(missing)
	return missing
}
