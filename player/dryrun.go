package player

import (
	"cmp"
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/player/internal/wanted"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Preview is what Run would do.
type Preview struct {
	Start, End rosbag.Time // of the first and the last message
	Topics     []PreviewTopic
	Unplayable []control.Unplayable
	Damage     []*control.DamageError // found so far; play may find more
	Graph      error                  // why the state of the live graph is unknown; nil if it is known
}

// PreviewTopic is a topic that Run would publish.
type PreviewTopic struct {
	// as published
	Name string
	// names in the bags
	Recorded []string
	Type     string
	Messages uint64
	// messages per second of bag time, averaged over the whole window; zero if it has no length
	Rate     float64
	Latching bool
	// the publishers that were recorded
	CallerIDs []string
	// its present publishers
	Publishers []string
	// its present subscribers
	Listeners []string
	// those of them that want another definition than that of the bags
	Unfit []Unfit
}

// Unfit is a subscriber that wants another definition: what becomes of it, and why.
type Unfit struct{ Node, Fate, Why string }

// askTime is how long a preview waits for subscribers to say what they want.
const askTime = 1500 * time.Millisecond

// graphTimeout bounds how long a preview waits for the master.
const graphTimeout = 2 * time.Second

// DryRun returns what Run would do with o. It publishes nothing; topics that have subscribers are
// advertised for a moment, because only then subscribers say which definition they want. If Run would
// refuse to play, it returns the preview together with the error.
func DryRun(ctx context.Context, o Options) (Preview, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Preview{}, err
	}
	return preview(ctx, &o, stage.OneNode{Node: o.Node})
}

// Check returns the error with which Run would refuse to play o. It needs no node: resolve resolves
// names as that of Run would. It asks no master.
// See ADR 0088.
func Check(ctx context.Context, o Options, resolve func(name string) (string, error)) error {
	o.resolve = resolve
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	p, err := abandonablePlan(ctx, &o, planOf(&o, false), resolve)
	if err != nil {
		return err
	}
	_, err = check(p, resolve, &o)
	return err
}

func preview(ctx context.Context, o *Options, g stage.Graph) (Preview, error) {
	p, err := abandonablePlan(ctx, o, planOf(o, false), g.Resolve)
	if err != nil {
		return Preview{}, err
	}
	v := Preview{End: p.Last, Damage: p.Damage}
	counts, err := p.Count(ctx)
	if err != nil {
		return Preview{}, err
	}
	asking, cancel := context.WithTimeout(ctx, graphTimeout)
	defer cancel()
	state, err := g.State(asking)
	v.Graph = err
	if ctx.Err() != nil {
		return Preview{}, ctx.Err()
	}
	v.Start = counts.First
	length := v.End.Sub(v.Start).Seconds()
	for _, t := range p.Topics {
		n := counts.ByTopic[t]
		if n == nil {
			continue
		}
		pt := PreviewTopic{
			Name: string(t.Name), Recorded: n.Recorded.List, Type: t.Type, Messages: n.Messages,
			Latching: t.Latching, CallerIDs: n.Callers.List,
		}
		if length > 0 {
			pt.Rate = float64(n.Messages) / length
		}
		for _, l := range stage.LiveTopics(&state, []string{string(t.Name)}, g.Names()) {
			pt.Publishers, pt.Listeners = l.Publishers, l.Subscribers
		}
		v.Topics = append(v.Topics, pt)
	}
	if err := v.ask(ctx, o, p, g); err != nil {
		return Preview{}, err
	}
	v.Unplayable = p.Unplayable()
	_, err = check(p, g.Resolve, o)
	return v, err
}

// ask asks the subscribers of the topics what they want. Topics that must not be published are left out.
func (v *Preview) ask(ctx context.Context, o *Options, p *plan.Plan, g stage.Graph) error {
	heard := make(map[string][]string)
	for i := range v.Topics {
		if t := &v.Topics[i]; len(t.Listeners) > 0 && !p.Denies(topicname.InGraph(t.Name)) {
			heard[t.Name] = t.Listeners
		}
	}
	if len(heard) == 0 {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	headers, err := g.AskSubscribers(asking, heard)
	if err != nil || ctx.Err() != nil {
		return cmp.Or(ctx.Err(), err)
	}
	desk := wanted.New(wanted.Options{Convert: o.ToWanted, Known: o.Definitions, Log: zap.NewNop()}, p)
	for i := range v.Topics {
		t := &v.Topics[i]
		for _, h := range headers[t.Name] {
			node, _ := h.Get("callerid")
			if fate, why := desk.Judge(p.Topic(topicname.InGraph(t.Name)), h); fate != "" {
				t.Unfit = append(t.Unfit, Unfit{node, fate, why})
			}
		}
	}
	return nil
}
