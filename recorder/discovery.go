package recorder

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// sighting is what one round of discovery has found.
type sighting struct {
	names []string
	since time.Time // when the round before began, in which new names were not there; zero in the first
}

// Discovery asks a master that answers slowly, because the graph is big, less often: at
// most this share of the time. One answer that is late says nothing of that, on a busy
// machine: the quickest of the last few does.
const (
	pollShare  = 20
	pollMost   = time.Second // as often as stock, at least
	pollLatest = 4
)

// pollPace says how long to wait between rounds.
type pollPace struct {
	interval time.Duration // at least
	took     []time.Duration
}

// next notes how long a round took and returns the time until the next.
func (p *pollPace) next(took time.Duration) time.Duration {
	p.took = append(p.took[max(0, len(p.took)-pollLatest+1):], took)
	if len(p.took) < pollLatest {
		return p.interval
	}
	return max(p.interval, min(pollShare*slices.Min(p.took), pollMost))
}

// discoverers returns what asks for the names of selected topics: the master, and each
// node of its own. A node that does not answer must not keep the others' topics waiting.
func (r *recording) discoverers() (all []func(context.Context) []string) {
	if r.Select.lists() {
		robots := map[string]bool{}
		all = append(all, func(ctx context.Context) []string { return r.listed(ctx, robots) })
	}
	for _, node := range r.Select.Nodes {
		all = append(all, r.pollNode(node, "subscribes to", r.Node.Master().NodeSubscriptions))
	}
	for _, node := range r.Select.NodePublications {
		all = append(all, r.pollNode(node, "publishes", r.Node.Master().NodePublications))
	}
	return all
}

// discover asks again and again and sends the names.
func (r *recording) discover(ctx context.Context, ask func(context.Context) []string, found chan<- sighting) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	pace := pollPace{interval: r.PollInterval}
	var before time.Time
	for {
		select {
		case <-wait.C:
		case <-ctx.Done():
			return
		}
		start := time.Now()
		names := ask(ctx)
		wait.Reset(pace.next(time.Since(start)))
		if len(names) == 0 {
			before = start
			continue
		}
		select {
		case found <- sighting{names, before}:
			before = start
		case <-ctx.Done():
			return
		}
	}
}

// listed asks the master. Trouble with it is the node's to report. robots are the topics
// named status that are not those of ofTool.
func (r *recording) listed(ctx context.Context, robots map[string]bool) (names []string) {
	topics, err := r.Node.Master().PublishedTopics(ctx)
	if err != nil {
		r.Log.Debug("no topic list from the master", zap.Error(err))
		return nil
	}
	for _, t := range topics {
		if r.Select.selects(t.Name, t.Type) && !r.ofTool(ctx, t, robots) {
			names = append(names, t.Name)
		}
	}
	return names
}

// ofTool reports whether a topic is what a player or another recorder of ours says about
// itself: it is recorded only where it is named, or a recording of a bag that is played
// would hold more than that bag. Such nodes register these services before their status.
func (r *recording) ofTool(ctx context.Context, t tcpros.TopicInfo, robots map[string]bool) bool {
	node, ok := strings.CutSuffix(t.Name, "/status")
	if !ok || t.Type != tcpros.DiagnosticArrayType || robots[t.Name] {
		return false
	}
	for _, service := range []string{"/pause_playback", "/pause_recording"} {
		_, err := r.Node.Master().LookupService(ctx, node+service)
		if err == nil || !errors.Is(err, tcpros.ErrStatus) {
			return true // if the master does not say it now, the next round finds out
		}
	}
	robots[t.Name] = true
	return false
}

// pollNode asks one node. Its topics stay subscribed to when it dies. Trouble is said
// when it changes.
func (r *recording) pollNode(node, does string, ask func(context.Context, string) ([]tcpros.TopicInfo, error)) func(context.Context) []string {
	trouble := ""
	return func(ctx context.Context) (names []string) {
		topics, err := r.nodeTopics(ctx, node, ask)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != trouble && text != "" && ctx.Err() == nil {
			r.Log.Warn("cannot ask the node what it "+does, zap.String("node", node), zap.Error(err))
		}
		trouble = text
		for _, t := range topics {
			if !r.Select.exclude.Match(t.Name) {
				names = append(names, t.Name)
			}
		}
		return names
	}
}

func (r *recording) nodeTopics(ctx context.Context, node string,
	ask func(context.Context, string) ([]tcpros.TopicInfo, error),
) ([]tcpros.TopicInfo, error) {
	name, err := r.Node.Resolve(node)
	if err != nil {
		return nil, err
	}
	uri, err := r.Node.Master().LookupNode(ctx, name)
	if err != nil {
		return nil, err
	}
	return ask(ctx, uri)
}
