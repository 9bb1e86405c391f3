package player

import (
	"fmt"
	"slices"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/tcpros"
)

// outTopic is a topic of the plan as it is published.
type outTopic struct {
	*plan.Topic
	publication stage.Publication

	messages  uint64
	bytes     uint64
	unstamped uint64 // messages that Options.Stamps left as they were, because they do not fit their definition
	off       bool   // by Control.SetTopic
}

// outlet publishes the messages of one original publisher of a topic.
type outlet struct {
	stage.Sender
	topic    *outTopic
	latching bool
	latched  plan.Latched // that subscribers get now, if it has a frame
}

// advertise advertises every topic of the plan, and gives each original publisher its own
// outlet: a late subscriber gets the last message of each latched publisher of a topic. A
// topic that the graph refuses is taken out of the plan. how holds the options common to all topics.
func (o *output) advertise(g stage.Graph, how tcpros.AdvertiseOptions) {
	p := o.plan
	refused := map[*plan.Topic]string{}
	keys := p.Keys()
	o.topics = make([]*outTopic, len(p.Topics))
	for i, t := range p.Topics {
		if t.Definition == "" {
			// Stock's text.
			p.Log.Warn(fmt.Sprintf("Advertising on topic [%s] with an empty message definition.  "+
				"Some tools (e.g. rosbag) may not work correctly.", t.Name), loglimit.Each())
		}
		offer := how
		offer.Topic, offer.Type, offer.MD5Sum = t.UnresolvedName, t.Type, t.MD5Sum
		offer.MessageDefinition, offer.Latching = t.Definition, t.Latching
		pub, err := g.Advertise(offer, keys[t])
		if err != nil {
			refused[t] = err.Error()
			continue
		}
		o.topics[i] = &outTopic{Topic: t, publication: pub}
	}
	o.outlets = make([]*outlet, len(p.Publishers))
	for i, s := range p.Publishers {
		t := o.topics[s.Topic.Number]
		if t == nil {
			continue
		}
		o.outlets[i] = &outlet{Sender: t.publication.Source(s.PublisherID), topic: t, latching: s.Latching}
		if s.Latching {
			o.latching = append(o.latching, o.outlets[i])
		}
	}
	p.Refuse(refused)
}

// advertised returns the topics that are advertised, in the order of the plan.
func (o *output) advertised() []*outTopic {
	return slices.DeleteFunc(slices.Clone(o.topics), func(t *outTopic) bool { return t == nil })
}

// published returns the names of the advertised topics.
func (o *output) published() []string {
	var names []string
	for _, t := range o.advertised() {
		names = append(names, t.publication.Topic())
	}
	return names
}

// close withdraws all topics.
func (o *output) close() {
	for _, t := range o.advertised() {
		t.publication.Close()
	}
}

// summarize adds the counts of all topics to s. Play must have ended.
func (o *output) summarize(s *control.Summary) {
	for _, t := range o.advertised() {
		s.Messages += t.messages
		s.Bytes += t.bytes
		dropped := t.publication.Dropped()
		s.Dropped += dropped
		s.Unstamped += t.unstamped
		s.Topics = append(s.Topics, control.TopicSummary{
			Name: t.Name, Type: t.Type, Messages: t.messages, Bytes: t.bytes,
			Subscribers: t.publication.Subscribers(), Dropped: dropped, Unstamped: t.unstamped,
		})
	}
}

// publications returns what is advertised.
func (o *output) publications() (all []stage.Publication) {
	for _, t := range o.advertised() {
		all = append(all, t.publication)
	}
	return all
}

// awaited returns those of topics that are advertised.
func (o *output) awaited(topics []*plan.Topic) (all []stage.Publication) {
	for _, t := range topics {
		if a := o.topics[t.Number]; a != nil {
			all = append(all, a.publication)
		}
	}
	return all
}
