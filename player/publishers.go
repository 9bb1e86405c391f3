package player

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// advertise offers every topic of the plan, and gives each original publisher its
// own source: of two latched publishers of a topic, a late subscriber gets the
// last message of both. A topic that the node refuses is not played.
func (p *plan) advertise(g graph, queueFrames int) {
	refused := map[*topic]string{}
	for _, t := range p.topics {
		if t.definition == "" {
			// Stock's text.
			p.log.Warn(fmt.Sprintf("Advertising on topic [%s] with an empty message definition.  "+
				"Some tools (e.g. rosbag) may not work correctly.", t.name))
		}
		pub, err := g.Advertise(tcpros.AdvertiseOptions{
			Topic: t.asked, Type: t.typ, MD5Sum: t.md5, MessageDefinition: t.definition,
			Latching: t.latching, QueueFrames: queueFrames,
		})
		if err != nil {
			refused[t] = err.Error()
			continue
		}
		t.publication = pub
	}
	for _, b := range p.bags {
		for _, c := range b.reader.Connections() {
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

// key tells which original publisher the connection belongs to.
func (r *route) key() sourceKey {
	return sourceKey{r.conn.Header.CallerID(), r.conn.Header.Latching()}
}

// source returns the source of one original publisher.
func (t *topic) source(k sourceKey) *source {
	if t.sources[k] == nil {
		t.sources[k] = &source{publisher: t.publication.Source(k.latching)}
	}
	return t.sources[k]
}

// published returns the names of the topics that are offered.
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

// subscriberPoll is how often waitForSubscribers looks, missingReport how often
// it says whom it is waiting for.
const (
	subscriberPoll = 20 * time.Millisecond
	missingReport  = 5 * time.Second
)

// waitForSubscribers returns when each topic has a subscriber, or ctx ended.
func (p *plan) waitForSubscribers(ctx context.Context) {
	poll := time.NewTicker(subscriberPoll)
	defer poll.Stop()
	reported := time.Now()
	for {
		var missing []string
		for _, t := range p.topics {
			if t.publication != nil && t.publication.Subscribers() == 0 {
				missing = append(missing, t.name)
			}
		}
		if len(missing) == 0 {
			return
		}
		if time.Since(reported) >= missingReport {
			reported = time.Now()
			p.log.Info("still waiting for subscribers", zap.Strings("topics", missing))
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

// summarize adds what the plan knows to s. Nothing is being played any more.
func (p *plan) summarize(s *Summary) {
	for _, t := range p.topics {
		if t.publication == nil {
			continue
		}
		s.Messages += t.messages
		s.Bytes += t.bytes
		dropped := t.publication.Dropped()
		s.Dropped += dropped
		s.Topics = append(s.Topics, TopicSummary{
			Name: t.name, Type: t.typ, Messages: t.messages, Bytes: t.bytes,
			Subscribers: t.publication.Subscribers(), Dropped: dropped,
		})
	}
	for _, b := range p.bags {
		for _, c := range b.reader.Connections() {
			if r := b.routes[c]; r != nil && r.reason != "" {
				s.Unplayable = append(s.Unplayable, Unplayable{
					Bag: b.name, Topic: r.name, Type: c.Header.Type(), MD5Sum: c.Header.MD5Sum(),
					Reason: r.reason, Messages: r.skipped.Load(),
				})
			}
		}
	}
}
