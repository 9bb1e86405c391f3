// Package graph asks the master and the nodes which topics there are, which of their publishers are alive,
// whether a publisher has ended, and whether a publisher numbers its messages itself. It knows nothing of
// the recording.
package graph

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Graph asks the master and the nodes about the topics of a recording. It is for concurrent use.
type Graph struct {
	Node *tcpros.Node
	Log  *zap.Logger
	// ask the master for all topics
	Lists bool
	// reports whether a topic that the master lists is recorded
	Selects func(topic, typ string) bool
	// returns the patterns of topics and types that have selected no topic
	Unmatched func() []string
	// reports whether a topic of Nodes or NodePublications is not recorded
	Excludes func(topic string) bool
	// record the topics that these nodes subscribe to
	Nodes []string
	// record the topics that these nodes publish
	NodePublications []string
	// the shortest time between two rounds of a Discoverer
	Interval time.Duration
	// the longest time for trying all nodes; SurveyTimeout except in tests
	Survey time.Duration
}

// Found is the result of one round of discovery.
type Found struct {
	Names []string  // topics to record
	Live  int       // how many of Names, which come first, have a publisher that answers, as far as is known
	Since time.Time // when the round before began, which did not list the new names; zero in the first round
	All   bool      // other topics to record have no publisher
	Same  bool      // Names are the same as in the result before
}

// A Discoverer asks less often the more topics there are, and the longer the master takes to answer.
// rosmaster is one thread of Python, which takes 0.5 ms for an answer and 1 us for each topic in it:
// with pollPerTopic, discovery takes about 0.5 % of that thread. Of a slower master, discovery takes at
// most 1/pollShare of the time. The quickest of the latest answers counts, because on a busy machine a
// single answer may be late.
const (
	pollPerTopic = 470 * time.Microsecond // in a graph of 500 topics, a new topic is linked within 250 ms
	pollShare    = 20
	pollMost     = time.Second // the longest wait; stock asks each second
	pollLatest   = 4           // answers that are compared
)

// pollPace says how long to wait between two rounds.
type pollPace struct {
	interval time.Duration // the shortest wait
	took     []time.Duration
}

// next returns how long to wait after a round that took the given time and listed the given number of topics.
func (p *pollPace) next(took time.Duration, topics int) time.Duration {
	p.took = append(p.took[max(0, len(p.took)-pollLatest+1):], took)
	wait := time.Duration(topics) * pollPerTopic
	if len(p.took) == pollLatest {
		wait = max(wait, pollShare*slices.Min(p.took))
	}
	return max(p.interval, min(wait, pollMost))
}

// Discoverers returns one Discoverer for the topics that the master lists, and one for each node that the
// user named: a node that does not answer must not hold up the topics of others.
func (g *Graph) Discoverers() (all []Discoverer) {
	if g.Lists {
		known := statusTopics{}
		ask := func(ctx context.Context) ([]string, int) { return g.listed(ctx, known) }
		all = append(all,
			Discoverer{ask: ask, rank: g.rankNew(), all: len(g.Nodes)+len(g.NodePublications) == 0})
	}
	for _, node := range g.Nodes {
		all = append(all,
			Discoverer{
				ask:  g.pollNode(node, "subscribes to", g.Node.Master().NodeSubscriptions),
				rank: noneLive,
			})
	}
	for _, node := range g.NodePublications {
		all = append(all,
			Discoverer{ask: g.pollNode(node, "publishes", g.Node.Master().NodePublications), rank: allLive})
	}
	return all
}

// Discoverer asks the master or a node which topics to record.
type Discoverer struct {
	// ask returns the topics to record, none if there was no answer, and how many topics were listed.
	ask func(context.Context) (names []string, listed int)
	// rank puts topics with live publishers first, and returns how many there are.
	rank func(ctx context.Context, names []string) int
	all  bool // ask returns every topic to record that has a publisher
}

func noneLive(context.Context, []string) int { return 0 }

func allLive(_ context.Context, names []string) int { return len(names) }

// rankNew returns the rank function for topics that the master lists. While few topics are new, all count
// as live: to register them takes no longer than to try their nodes.
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

// Discover asks repeatedly, and sends the results to found, until ctx is done.
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
		names, listed := d.ask(ctx)
		wait.Reset(pace.next(time.Since(start), listed))
		if len(names) == 0 {
			before, last = start, nil
			continue
		}
		result := Found{
			Names: names, Live: len(names), Since: before, All: d.all,
			Same: slices.Equal(names, last),
		}
		if !result.Same {
			last = slices.Clone(names) // rank changes the order of names
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

// statusTopics remembers which topics named status belong to our tools; the others belong to robots. The
// master is asked once for each: a tool that ends unregisters its services before its status topic.
type statusTopics map[string]bool

// listed returns the topics to record that the master lists. Errors are logged at debug level only,
// because the node logs when the master is away.
func (g *Graph) listed(ctx context.Context, known statusTopics) (names []string, listed int) {
	topics, err := g.Node.Master().PublishedTopics(ctx)
	if err != nil {
		g.Log.Debug("no topic list from the master", zap.Error(err))
		return nil, 0
	}
	present := make(map[string]bool, len(known))
	for _, t := range topics {
		if _, asked := known[t.Name]; asked {
			present[t.Name] = true
		}
	}
	// another node may take the name
	maps.DeleteFunc(known, func(name string, _ bool) bool { return !present[name] })
	for _, t := range topics {
		if g.Selects(t.Name, t.Type) && !g.ofTool(ctx, t, known) {
			names = append(names, t.Name)
		}
	}
	return names, len(topics)
}

// ofTool reports whether a topic is the status of a goplay or of another gorecord, which register these
// services before their status topic. Such a topic is recorded only if the user named it: the recording of
// a bag that is played holds no more than that bag.
func (g *Graph) ofTool(ctx context.Context, t tcpros.TopicInfo, known statusTopics) bool {
	node, ok := strings.CutSuffix(t.Name, "/status")
	if !ok || t.Type != stdmsg.DiagnosticArrayType {
		return false
	}
	if tool, asked := known[t.Name]; asked {
		return tool
	}
	for _, service := range []string{"/pause_playback", "/pause_recording"} {
		_, err := g.Node.Master().LookupService(ctx, node+service)
		if err == nil {
			known[t.Name] = true
		}
		if err == nil || !errors.Is(err, tcpros.ErrStatus) {
			return true // there was no answer: the next round asks again
		}
	}
	known[t.Name] = false
	return false
}

// OfNode reports whether a topic is one of the recorder's own: its status, or the texts of marks, to which
// the node is subscribed already. Other topics below the name of the node belong to the robot.
func OfNode(node *tcpros.Node, topic string) bool {
	own, ok := strings.CutPrefix(topic, node.Name())
	return ok && (own == "/status" || own == "/mark")
}

// pollNode returns the function that asks one node for its topics. An error is logged when its text
// differs from that of the last one. Topics of a node that has ended stay subscribed to.
func (g *Graph) pollNode(node, does string,
	ask func(context.Context, string) ([]tcpros.TopicInfo, error),
) func(context.Context) ([]string, int) {
	last := "" // text of the last error
	return func(ctx context.Context) (names []string, listed int) {
		topics, err := g.nodeTopics(ctx, node, ask)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != last && text != "" && ctx.Err() == nil {
			g.Log.Warn("cannot ask the node what it "+does, zap.String("node", node), zap.Error(err))
		}
		last = text
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
