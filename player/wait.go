package player

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/internal/plan"
)

// subscriberPoll is how often waitForSubscribers checks for subscribers, missingReport how
// often it logs the topics that have none. linkPoll is how often waitForLinks checks for links.
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

// waitForSubscribers returns when each of topics has a subscriber, or ctx ended. With a
// timeout it does not wait longer and returns a *WaitError.
func waitForSubscribers(ctx context.Context, topics []*outTopic, timeout time.Duration, log *zap.Logger) error {
	poll := time.NewTicker(subscriberPoll)
	defer poll.Stop()
	start := time.Now()
	for reported := start; ; {
		missing := withoutSubscriber(topics)
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

// waitForLinks returns when the subscribers that the master lists are linked, but after
// Options.LinkTimeout at the latest. A node learns from the master that play publishes, and
// then asks play for a link: with roscpp that takes up to 300 ms, and what is published before
// does not reach it. Subscribers without a link by then are logged and not waited for again. Those
// that have crashed stay listed, and are not waited for at all.
func (r *run) waitForLinks(ctx context.Context, live []liveTopic) {
	if r.o.LinkTimeout == 0 {
		return
	}
	deadline := time.Now().Add(r.o.LinkTimeout)
	published := map[string]publication{}
	for _, t := range r.control.output.advertised() {
		published[t.publication.Topic()] = t.publication
	}
	live = withoutLink(published, live)
	gone, end := r.findGone(ctx, live)
	defer end()
	for ; ; wait(ctx, linkPoll) {
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
		missing = append(missing, l.name+": "+strings.Join(l.subscribers, " "))
	}
	r.o.Log.Warn("subscribers that the master lists have not connected: play begins without them",
		zap.Duration("after", r.o.LinkTimeout), zap.Strings("topics", plan.Abbreviate(missing)))
}

// withoutLink returns the topics with subscribers that are not linked, and only these.
func withoutLink(published map[string]publication, live []liveTopic) (left []liveTopic) {
	for _, l := range live {
		pub, ok := published[l.name]
		if !ok {
			continue
		}
		l.subscribers = slices.DeleteFunc(slices.Clone(l.subscribers), pub.Linked)
		if len(l.subscribers) > 0 {
			left = append(left, l)
		}
	}
	return left
}

// goneNodes are listed subscribers that do not run any more. It is for concurrent use.
type goneNodes struct {
	mu    sync.Mutex
	nodes map[string]bool
}

// without returns the topics with subscribers that are not gone, and only these.
func (g *goneNodes) without(live []liveTopic) (left []liveTopic) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range live {
		l.subscribers = slices.DeleteFunc(l.subscribers, func(n string) bool { return g.nodes[n] })
		if len(l.subscribers) > 0 {
			left = append(left, l)
		}
	}
	return left
}

// findGone starts to find out which subscribers are gone. end ends that and logs those that were found.
func (r *run) findGone(ctx context.Context, live []liveTopic) (gone *goneNodes, end func()) {
	gone = &goneNodes{nodes: map[string]bool{}}
	var all []string
	for _, l := range live {
		all = append(all, l.subscribers...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	queue := make(chan string, len(all))
	for _, node := range all {
		queue <- node
	}
	close(queue)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range min(goneCalls, len(all)) {
		// owner: end; ends when the queue is empty, or with ctx.
		wg.Go(func() {
			for node := range queue {
				if r.graph.Gone(ctx, node) {
					gone.mu.Lock()
					gone.nodes[node] = true
					gone.mu.Unlock()
				}
			}
		})
	}
	return gone, func() {
		cancel()
		wg.Wait()
		if len(gone.nodes) > 0 {
			r.o.Log.Warn("subscribers that the master lists do not run any more: play does not wait for them",
				zap.Strings("nodes", plan.Abbreviate(slices.Sorted(maps.Keys(gone.nodes)))))
		}
	}
}

// withoutSubscriber returns the names of the topics without a subscriber.
func withoutSubscriber(topics []*outTopic) []string {
	var missing []string
	for _, t := range topics {
		if t.publication.Subscribers() == 0 {
			missing = append(missing, t.Name)
		}
	}
	slices.Sort(missing)
	return missing
}
