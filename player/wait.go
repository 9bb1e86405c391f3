package player

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
)

// subscriberPoll is how often waiting looks for subscribers, missingReport how often
// it says whom it is waiting for.
const (
	subscriberPoll = 20 * time.Millisecond
	missingReport  = 3 * time.Second
)

// WaitError says which topics had no subscriber when Options.WaitTimeout was over.
type WaitError struct {
	Topics []string
	After  time.Duration
}

// Error implements error.
func (e *WaitError) Error() string {
	return fmt.Sprintf("player: no subscriber within %v: %s", e.After, strings.Join(few(e.Topics), ", "))
}

// awaited returns the topics that play waits for. All must be able to come.
func (p *plan) awaited(o *Options) ([]*topic, error) {
	var all []*topic
	for _, t := range p.topics {
		if p.selection.wait.match(t.name) || o.WaitForSubscribers {
			all = append(all, t)
		}
	}
	if never := p.selection.wait.set.Unmatched(); len(never) > 0 {
		return nil, &OptionError{"WaitFor", "names what is not played: " + strings.Join(never, ", ")}
	}
	return all, nil
}

// waitForSubscribers returns when each of topics has a subscriber, or ctx ended. With a
// timeout it does not wait longer and returns a *WaitError.
func (p *plan) waitForSubscribers(ctx context.Context, topics []*topic, timeout time.Duration) error {
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
			p.log.Info("still waiting for subscribers", zap.Strings("topics", few(missing)))
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// withoutSubscriber returns the names of those topics that nobody listens to.
func withoutSubscriber(topics []*topic) []string {
	var missing []string
	for _, t := range topics {
		if t.publication != nil && t.publication.Subscribers() == 0 {
			missing = append(missing, t.name)
		}
	}
	slices.Sort(missing)
	return missing
}
