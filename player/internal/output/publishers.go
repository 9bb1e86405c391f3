package output

import (
	"fmt"
	"slices"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Topic is a topic of the plan as it is published.
type Topic struct {
	*plan.Topic
	publication stage.Publication

	messages  uint64
	sent      uint64 // of messages: the first ones, which are with no subscriber any more
	bytes     uint64
	unstamped uint64 // messages that kept their stamps because they do not fit their definition
	off       bool   // by Control.SetTopic
}

// Takes reports whether a message can be published on the topic now: every subscriber has room for a
// message, or the topic is off.
func (t *Topic) Takes() bool { return t.off || t.publication.Room() }

// NotReading returns the subscribers of the topic that have no room for a message.
func (t *Topic) NotReading() (names []string) {
	for _, s := range t.publication.Stats() {
		if s.Full {
			names = append(names, s.CallerID+" of "+string(t.Name))
		}
	}
	return names
}

// outlet publishes the messages of one original publisher of a topic.
type outlet struct {
	stage.Sender
	topic    *Topic
	latching bool
	latched  plan.Latched // the message that a new subscriber gets; without a frame there is none
}

// Advertise advertises every topic of the plan, and gives each original publisher its own
// outlet: a late subscriber gets the last message of each latched publisher of a topic. A
// topic that the graph refuses is taken out of the plan. how has the options that all topics share.
func (o *Output) Advertise(g stage.Graph, how tcpros.AdvertiseOptions) {
	p := o.plan
	refused := map[*plan.Topic]string{}
	keys := p.Keys()
	o.topics = make([]*Topic, len(p.Topics))
	for i, t := range p.Topics {
		if t.Definition == "" {
			// Stock's text.
			p.Log.Warn(fmt.Sprintf("Advertising on topic [%s] with an empty message definition.  "+
				"Some tools (e.g. rosbag) may not work correctly.", t.Name), loglimit.Each())
		}
		offer := how
		offer.Topic, offer.Type, offer.MD5Sum = t.UnresolvedName, t.Type, t.MD5Sum
		offer.MessageDefinition, offer.Latching, offer.Unfit = t.Definition, t.Latching, o.wanted.Unfit(t)
		pub, err := g.Advertise(offer, keys[t])
		if err != nil {
			refused[t] = err.Error()
			continue
		}
		o.topics[i] = &Topic{Topic: t, publication: pub}
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
	if o.viewers != nil {
		var topics []*plan.Topic
		for _, t := range o.advertised() {
			topics = append(topics, t.Topic)
		}
		o.viewers.Open(p, topics)
	}
}

// Topic returns the topic that the messages of a route are published on.
func (o *Output) Topic(r *plan.Route) *Topic { return o.topics[r.Topic.Number] }

// advertised returns the topics that are advertised, in the order of the plan.
func (o *Output) advertised() []*Topic {
	return slices.DeleteFunc(slices.Clone(o.topics), func(t *Topic) bool { return t == nil })
}

// Published returns the names of the advertised topics.
func (o *Output) Published() []string {
	var names []string
	for _, t := range o.advertised() {
		names = append(names, t.publication.Topic())
	}
	return names
}

// Close withdraws all topics, and the clock.
func (o *Output) Close() {
	if o.clock != nil {
		o.clock.close()
	}
	for _, t := range o.advertised() {
		t.publication.Close()
	}
}

// Counts returns the account of each topic, without its subscribers.
func (o *Output) Counts() (all []control.TopicStats) {
	for _, t := range o.advertised() {
		all = append(all, control.TopicStats{
			Name: t.publication.Topic(), Type: t.Type, Latching: t.Latching, Off: t.off, Pauses: t.Pauses,
			Messages: t.messages, Bytes: t.bytes,
		})
	}
	return all
}

// AddSubscribers adds the subscribers to what Counts has returned. It needs no lock.
func (o *Output) AddSubscribers(all []control.TopicStats) {
	for i, t := range o.advertised() {
		all[i].Subscribers, all[i].Dropped = t.publication.Stats(), o.dropped(t)
	}
}

// dropped returns how many messages subscribers of a topic did not get: from full queues, or because they
// could not be converted.
func (o *Output) dropped(t *Topic) uint64 {
	return t.publication.Dropped() + o.wanted.Unconverted(t.Topic)
}

// Summarize adds the counts of all topics to s. Play must have ended.
func (o *Output) Summarize(s *control.Summary) {
	for _, t := range o.advertised() {
		s.Messages += t.messages
		s.Bytes += t.bytes
		dropped := o.dropped(t)
		s.Dropped += dropped
		s.Unconverted += o.wanted.Unconverted(t.Topic)
		s.Unstamped += t.unstamped
		for _, node := range t.publication.UDPOnly() {
			s.UDPOnly = append(s.UDPOnly, node+" of "+string(t.Name))
		}
		for _, node := range t.publication.Refused() {
			s.Refused = append(s.Refused, node+" of "+string(t.Name))
		}
		s.Topics = append(s.Topics, control.TopicSummary{
			Name: string(t.Name), Type: t.Type, Messages: t.messages, Bytes: t.bytes,
			Subscribers: t.publication.Subscribers(), Dropped: dropped, Unstamped: t.unstamped,
		})
	}
}

// Publications returns what is advertised.
func (o *Output) Publications() (all []stage.Publication) {
	for _, t := range o.advertised() {
		all = append(all, t.publication)
	}
	return all
}

// Awaited returns those of topics that are advertised.
func (o *Output) Awaited(topics []*plan.Topic) (all []stage.Publication) {
	for _, t := range topics {
		if a := o.topics[t.Number]; a != nil {
			all = append(all, a.publication)
		}
	}
	return all
}
