package player

import (
	"fmt"
	"slices"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/tcpros"
)

// advertise advertises every topic of the plan, and gives each original publisher its own
// source: a late subscriber gets the last message of each latched publisher of a topic. A
// topic that the node refuses is not played. how holds the options common to all topics.
func (p *plan) advertise(g graph, how tcpros.AdvertiseOptions) {
	refused := map[*topic]string{}
	keys := p.keys()
	for _, t := range p.topics {
		if t.definition == "" {
			// Stock's text.
			p.log.Warn(fmt.Sprintf("Advertising on topic [%s] with an empty message definition.  "+
				"Some tools (e.g. rosbag) may not work correctly.", t.name), loglimit.Each())
		}
		offer := how
		offer.Topic, offer.Type, offer.MD5Sum = t.unresolvedName, t.typ, t.md5
		offer.MessageDefinition, offer.Latching = t.definition, t.latching
		pub, err := g.Advertise(offer, keys[t])
		if err != nil {
			refused[t] = err.Error()
			continue
		}
		t.publication = pub
	}
	for _, b := range p.bags {
		for _, c := range b.source.Connections() {
			r := b.routes[c]
			if r == nil || r.topic == nil {
				continue
			}
			if reason, ok := refused[r.topic]; ok {
				r.unplayable(p.log, reason)
				continue
			}
			r.source = r.topic.source(r.key())
		}
	}
	p.latched = slices.DeleteFunc(p.latched, func(l latchedMessage) bool {
		if l.route.reason != "" {
			l.route.skipped.Add(1)
		}
		return l.route.reason != ""
	})
}

// keys returns the original publishers of each topic.
func (p *plan) keys() map[*topic][]sourceKey {
	keys := map[*topic][]sourceKey{}
	known := map[publisherKey]bool{}
	for _, b := range p.bags {
		for _, c := range b.source.Connections() { // in a fixed order
			r := b.routes[c]
			if r == nil || r.topic == nil {
				continue
			}
			if k := (publisherKey{r.topic, r.key()}); !known[k] {
				keys[r.topic], known[k] = append(keys[r.topic], k.source), true
			}
		}
	}
	return keys
}

// callers returns the caller IDs of all original publishers, in the order of the bags.
func (p *plan) callers() []string {
	var all []string
	known := map[string]bool{}
	for _, b := range p.bags {
		for _, c := range b.source.Connections() {
			if id := c.Header.CallerID(); b.playable(c) && !known[id] {
				all, known[id] = append(all, id), true
			}
		}
	}
	return all
}

// key returns the original publisher of the connection.
func (r *route) key() sourceKey {
	return sourceKey{r.conn.Header.CallerID(), r.conn.Header.Latching()}
}

// source returns the source of one original publisher.
func (t *topic) source(k sourceKey) *outlet {
	if t.sources[k] == nil {
		t.sources[k] = &outlet{publisher: t.publication.Source(k), topic: t, latching: k.latching}
	}
	return t.sources[k]
}

// published returns the names of the advertised topics.
func (p *plan) published() []string {
	var names []string
	for _, t := range p.topics {
		if t.publication != nil {
			names = append(names, t.publication.Topic())
		}
	}
	return names
}

// close withdraws all topics.
func (p *plan) close() {
	for _, t := range p.topics {
		if t.publication != nil {
			t.publication.Close()
		}
	}
}

// summarize adds the counts of all topics to s. Play must have ended.
func (p *plan) summarize(s *control.Summary) {
	for _, t := range p.topics {
		if t.publication == nil {
			continue
		}
		s.Messages += t.messages
		s.Bytes += t.bytes
		dropped := t.publication.Dropped()
		s.Dropped += dropped
		s.Unstamped += t.unstamped
		s.Topics = append(s.Topics, control.TopicSummary{
			Name: t.name, Type: t.typ, Messages: t.messages, Bytes: t.bytes,
			Subscribers: t.publication.Subscribers(), Dropped: dropped, Unstamped: t.unstamped,
		})
	}
	s.Unplayable = p.unplayable()
}

// unplayable lists the connections that were not played, with their numbers of messages.
func (p *plan) unplayable() []control.Unplayable {
	var all []control.Unplayable
	for _, b := range p.bags {
		for _, c := range b.source.Connections() {
			if r := b.routes[c]; r != nil && r.reason != "" {
				all = append(all, control.Unplayable{
					Bag: b.name, Topic: r.name, Type: c.Header.Type(), MD5Sum: c.Header.MD5Sum(),
					Reason: r.reason, Remedy: r.remedy, Messages: r.skipped.Load(),
				})
			}
		}
	}
	return all
}
