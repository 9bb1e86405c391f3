package recorder

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// discoveryResult is what one round of discovery has found.
type discoveryResult struct {
	names []string
	live  int       // so many of them, the first, have a publisher that answers, as far as is known
	since time.Time // when the round before began, in which new names were not there; zero in the first
	all   bool      // a topic that is not among names has no publisher
	same  bool      // names are those of the result before
}

// Discovery asks a big graph, or a master that answers slowly, less often. rosmaster is one
// thread of Python, which takes half a millisecond for an answer and 1 us for each topic in it:
// it is kept busy with that for half a percent of the time. What an answer takes is limited to
// a larger share; one that is late says nothing, on a busy machine: the quickest of the last few
// does.
const (
	pollPerTopic = 470 * time.Microsecond // with 500 topics a new one is linked within 250 ms
	pollShare    = 20
	pollMost     = time.Second // as often as stock, at least
	pollLatest   = 4
)

// pollPace says how long to wait between rounds.
type pollPace struct {
	interval time.Duration // at least
	took     []time.Duration
}

// next notes how long a round took, and how many topics it has listed, and returns the time
// until the next.
func (p *pollPace) next(took time.Duration, topics int) time.Duration {
	p.took = append(p.took[max(0, len(p.took)-pollLatest+1):], took)
	wait := time.Duration(topics) * pollPerTopic
	if len(p.took) == pollLatest {
		wait = max(wait, pollShare*slices.Min(p.took))
	}
	return max(p.interval, min(wait, pollMost))
}

// discoverers returns what asks for the names of selected topics: the master, and each
// node of its own. A node that does not answer must not keep the others' topics waiting.
func (r *session) discoverers() (all []discoverer) {
	if r.Select.lists() {
		known := statusTopics{tools: map[string]bool{}, robots: map[string]bool{}}
		ask := func(ctx context.Context) ([]string, int) { return r.listed(ctx, known) }
		all = append(all, discoverer{ask: ask, rank: r.rankNew(), all: len(r.Select.Nodes)+len(r.Select.NodePublications) == 0})
	}
	for _, node := range r.Select.Nodes {
		all = append(all, discoverer{ask: r.pollNode(node, "subscribes to", r.Node.Master().NodeSubscriptions), rank: noneLive})
	}
	for _, node := range r.Select.NodePublications {
		all = append(all, discoverer{ask: r.pollNode(node, "publishes", r.Node.Master().NodePublications), rank: allLive})
	}
	return all
}

// discoverer asks for the names of topics to record.
type discoverer struct {
	ask  func(context.Context) (names []string, of int) // no names if there was no answer; of is how many were listed, selected or not
	rank func(ctx context.Context, names []string) int  // puts topics with live publishers first and returns how many those are
	all  bool                                           // the answer has all topics with publishers that are selected
}

func noneLive(context.Context, []string) int { return 0 }

func allLive(_ context.Context, names []string) int { return len(names) }

// rankNew returns the rank of a discoverer of what the master lists. While few topics are new
// all count as live: registering those takes no longer than finding out.
func (r *session) rankNew() func(context.Context, []string) int {
	before := map[string]bool{}
	return func(ctx context.Context, names []string) int {
		listed, fresh := make(map[string]bool, len(names)), 0
		for _, name := range names {
			listed[name] = true
			if !before[name] {
				fresh++
			}
		}
		before = listed
		if fresh < surveyFrom {
			return len(names)
		}
		return r.sortByLiveness(ctx, names)
	}
}

// discover asks again and again and sends the names.
func (r *session) discover(ctx context.Context, d discoverer, found chan<- discoveryResult) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	pace := pollPace{interval: r.PollInterval}
	var before time.Time
	var last []string
	for {
		select {
		case <-wait.C:
		case <-ctx.Done():
			return
		}
		start := time.Now()
		names, of := d.ask(ctx)
		wait.Reset(pace.next(time.Since(start), of))
		if len(names) == 0 {
			before, last = start, nil
			continue
		}
		result := discoveryResult{names: names, live: len(names), since: before, all: d.all, same: slices.Equal(names, last)}
		if !result.same {
			last = slices.Clone(names) // rank orders names anew
			result.live = d.rank(ctx, names)
		}
		select {
		case found <- result:
			before = start
		case <-ctx.Done():
			return
		}
	}
}

// statusTopics is what is known of the topics named status that the master lists: whether
// they are those of tools. It is asked once: a tool that ends takes back its services
// before its status.
type statusTopics struct{ tools, robots map[string]bool }

// listed asks the master. Trouble with it is the node's to report.
func (r *session) listed(ctx context.Context, known statusTopics) (names []string, of int) {
	topics, err := r.Node.Master().PublishedTopics(ctx)
	if err != nil {
		r.Log.Debug("no topic list from the master", zap.Error(err))
		return nil, 0
	}
	present := make(map[string]bool, len(known.tools))
	for _, t := range topics {
		if known.tools[t.Name] {
			present[t.Name] = true
		}
	}
	maps.DeleteFunc(known.tools, func(name string, _ bool) bool { return !present[name] }) // a robot may take the name
	for _, t := range topics {
		if r.Select.selects(t.Name, t.Type) && !r.ofTool(ctx, t, known) {
			names = append(names, t.Name)
		}
	}
	return names, len(topics)
}

// ofTool reports whether a topic is what a player or another recorder of ours says about
// itself: it is recorded only where it is named, or a recording of a bag that is played
// would hold more than that bag. Such nodes register these services before their status.
func (r *session) ofTool(ctx context.Context, t tcpros.TopicInfo, known statusTopics) bool {
	node, ok := strings.CutSuffix(t.Name, "/status")
	if !ok || t.Type != tcpros.DiagnosticArrayType || known.robots[t.Name] {
		return false
	}
	if known.tools[t.Name] {
		return true
	}
	for _, service := range []string{"/pause_playback", "/pause_recording"} {
		_, err := r.Node.Master().LookupService(ctx, node+service)
		if err == nil {
			known.tools[t.Name] = true
		}
		if err == nil || !errors.Is(err, tcpros.ErrStatus) {
			return true // if the master does not say it now, the next round finds out
		}
	}
	known.robots[t.Name] = true
	return false
}

// pollNode asks one node. Its topics stay subscribed to when it dies. Errors are logged
// when it changes.
func (r *session) pollNode(node, does string, ask func(context.Context, string) ([]tcpros.TopicInfo, error)) func(context.Context) ([]string, int) {
	trouble := ""
	return func(ctx context.Context) (names []string, of int) {
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
		return names, len(topics)
	}
}

func (r *session) nodeTopics(ctx context.Context, node string,
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
