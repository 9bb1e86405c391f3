// Package graph asks the master and the nodes: which topics there are, whose publishers live,
// whether a publisher has ended, and whose numbers the messages of a publisher have. It keeps
// nothing of the recording; the session asks it.
package graph

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

// Config says what a Graph is asked for.
type Config struct {
	Node             *tcpros.Node
	Log              *zap.Logger
	Lists            bool                         // ask the master for all topics
	Selects          func(topic, typ string) bool // whether a topic that the master lists is wanted
	Unmatched        func() []string              // patterns of topics and types that have selected no topic
	Excludes         func(topic string) bool      // whether a topic of Nodes or NodePublications is not
	Nodes            []string                     // the topics that these nodes subscribe to are wanted
	NodePublications []string                     // the topics that these nodes publish are wanted
	Interval         time.Duration                // between the rounds of a Discoverer, at least
	Survey           time.Duration                // for trying all nodes, SurveyTimeout usually
}

// Graph asks the master and the nodes. It is for concurrent use.
type Graph struct{ Config }

// Found is what one round of discovery has found.
type Found struct {
	Names []string
	Live  int       // so many of them, the first, have a publisher that answers, as far as is known
	Since time.Time // when the round before began, in which new names were not there; zero in the first
	All   bool      // a topic that is not among Names has no publisher
	Same  bool      // Names are those of the result before
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

// Discoverers returns what asks for the names of selected topics: the master, and each
// node of its own. A node that does not answer must not keep the others' topics waiting.
func (g *Graph) Discoverers() (all []Discoverer) {
	if g.Lists {
		known := statusTopics{tools: map[string]bool{}, robots: map[string]bool{}}
		ask := func(ctx context.Context) ([]string, int) { return g.listed(ctx, known) }
		all = append(all, Discoverer{ask: ask, rank: g.rankNew(), all: len(g.Nodes)+len(g.NodePublications) == 0})
	}
	for _, node := range g.Nodes {
		all = append(all, Discoverer{ask: g.pollNode(node, "subscribes to", g.Node.Master().NodeSubscriptions), rank: noneLive})
	}
	for _, node := range g.NodePublications {
		all = append(all, Discoverer{ask: g.pollNode(node, "publishes", g.Node.Master().NodePublications), rank: allLive})
	}
	return all
}

// Discoverer asks for the names of topics to record.
type Discoverer struct {
	ask  func(context.Context) (names []string, of int) // no names if there was no answer; of is how many were listed, selected or not
	rank func(ctx context.Context, names []string) int  // puts topics with live publishers first and returns how many those are
	all  bool                                           // the answer has all topics with publishers that are selected
}

func noneLive(context.Context, []string) int { return 0 }

func allLive(_ context.Context, names []string) int { return len(names) }

// rankNew returns the rank of a Discoverer of what the master lists. While few topics are new
// all count as live: registering those takes no longer than finding out.
func (g *Graph) rankNew() func(context.Context, []string) int {
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
		return g.sortByLiveness(ctx, names)
	}
}

// Discover asks again and again and sends the names.
func (g *Graph) Discover(ctx context.Context, d Discoverer, found chan<- Found) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	pace := pollPace{interval: g.Interval}
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
		result := Found{Names: names, Live: len(names), Since: before, All: d.all, Same: slices.Equal(names, last)}
		if !result.Same {
			last = slices.Clone(names) // rank orders names anew
			result.Live = d.rank(ctx, names)
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
func (g *Graph) listed(ctx context.Context, known statusTopics) (names []string, of int) {
	topics, err := g.Node.Master().PublishedTopics(ctx)
	if err != nil {
		g.Log.Debug("no topic list from the master", zap.Error(err))
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
		if g.Selects(t.Name, t.Type) && !g.ofTool(ctx, t, known) {
			names = append(names, t.Name)
		}
	}
	return names, len(topics)
}

// ofTool reports whether a topic is what a player or another recorder of ours says about
// itself: it is recorded only where it is named, or a recording of a bag that is played
// would hold more than that bag. Such nodes register these services before their status.
func (g *Graph) ofTool(ctx context.Context, t tcpros.TopicInfo, known statusTopics) bool {
	node, ok := strings.CutSuffix(t.Name, "/status")
	if !ok || t.Type != tcpros.DiagnosticArrayType || known.robots[t.Name] {
		return false
	}
	if known.tools[t.Name] {
		return true
	}
	for _, service := range []string{"/pause_playback", "/pause_recording"} {
		_, err := g.Node.Master().LookupService(ctx, node+service)
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
func (g *Graph) pollNode(node, does string, ask func(context.Context, string) ([]tcpros.TopicInfo, error)) func(context.Context) ([]string, int) {
	trouble := ""
	return func(ctx context.Context) (names []string, of int) {
		topics, err := g.nodeTopics(ctx, node, ask)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != trouble && text != "" && ctx.Err() == nil {
			g.Log.Warn("cannot ask the node what it "+does, zap.String("node", node), zap.Error(err))
		}
		trouble = text
		for _, t := range topics {
			if !g.Excludes(t.Name) {
				names = append(names, t.Name)
			}
		}
		return names, len(topics)
	}
}

func (g *Graph) nodeTopics(ctx context.Context, node string,
	ask func(context.Context, string) ([]tcpros.TopicInfo, error),
) ([]tcpros.TopicInfo, error) {
	name, err := g.Node.Resolve(node)
	if err != nil {
		return nil, err
	}
	uri, err := g.Node.Master().LookupNode(ctx, name)
	if err != nil {
		return nil, err
	}
	return ask(ctx, uri)
}
