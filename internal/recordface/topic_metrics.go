package recordface

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorosbag/gorosbag/internal/web/metrics"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// missedCause is the cause of messages that were published and never arrived, beside the causes of drops.
const missedCause = "missed"

// collectLost sends the losses of all topics, also of those that ended.
func collectLost(ch chan<- prometheus.Metric, stats *control.Stats) {
	lost := map[string]float64{missedCause: 0}
	for _, cause := range control.DropCauseNames() {
		lost[cause] = 0
	}
	for i := range stats.Topics {
		lost[missedCause] += float64(stats.Topics[i].Missed)
		for cause, n := range stats.Topics[i].Causes {
			lost[cause] += float64(n)
		}
	}
	for cause, n := range lost {
		recordMetrics.Counter(ch, "gorecord_lost_total", n, cause)
	}
}

// counter identifies a counter of a topic.
type counter struct{ metric, cause string } // cause is empty unless the metric has that label

// counts are the values of the counters of one topic or of several topics.
type counts map[counter]float64

func countsOf(t *control.TopicStats) counts {
	c := counts{
		{metric: "gorecord_messages_total"}:          float64(t.Messages),
		{metric: "gorecord_bytes_total"}:             float64(t.Bytes),
		{metric: "gorecord_messages_missed_total"}:   float64(t.Missed),
		{metric: "gorecord_messages_left_out_total"}: float64(t.LeftOut),
		{metric: "gorecord_messages_passed_total"}:   float64(t.Passed),
		{metric: "gorecord_links_lost_total"}:        float64(t.LinksLost),
	}
	for cause, n := range t.Causes {
		c[counter{"gorecord_messages_dropped_total", cause}] = float64(n)
	}
	return c
}

// topicSums are the figures of the topics with one label.
type topicSums struct {
	counts     counts
	present    bool // topics with this label have an account; the following figures are theirs
	publishers float64
	age        time.Duration // since the last message
}

// gauge adds the gauges of a topic.
func (s *topicSums) gauge(t *control.TopicStats, all *control.Stats) {
	age := all.Elapsed
	if !t.Last.IsZero() {
		age = max(all.Taken.Sub(t.Last), 0)
	}
	if s.present {
		age = min(age, s.age)
	}
	s.present, s.age = true, age
	s.publishers += float64(t.Publishers)
}

func (s *topicSums) collect(ch chan<- prometheus.Metric, label string) {
	for c, n := range s.counts {
		if c.cause == "" {
			recordMetrics.Counter(ch, c.metric, n, label)
		} else {
			recordMetrics.Counter(ch, c.metric, n, label, c.cause)
		}
	}
	if s.present {
		recordMetrics.Gauge(ch, "gorecord_publishers", s.publishers, label)
		recordMetrics.Gauge(ch, "gorecord_last_message_age_seconds", s.age.Seconds(), label)
	}
}

// topicCounters are the counters of topics from one scrape to the next. A counter must not fall when topics end and
// lose their accounts. So a topic keeps its label as long as it has an account, and what was once counted for the
// topics beyond the limit of labels stays counted.
type topicCounters struct {
	mu     sync.Mutex
	own    map[string]bool        // the topics that have a label of their own
	others map[string]*otherTopic // the topics that have none
	other  counts                 // the sums of these topics, and of those that had none before they ended; nil for none
}

// otherTopic is a topic without a label of its own, at the last scrape.
type otherTopic struct {
	arrived uint64
	counts  counts
}

// scrape returns the statistics of the recording, and the figures of topics by label. Scrapes take turns, since the
// statistics of each have to be later than those of the one before.
func (c *topicCounters) scrape(recording control.Recording) (stats control.Stats, byLabel map[string]*topicSums, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stats, err = recording.Stats(); err != nil {
		return stats, nil, err
	}
	var labels metrics.Labels
	for i := range stats.Topics {
		if name := stats.Topics[i].Topic; c.own[name] {
			labels.Label(name) // before topics that are new
		}
	}
	byLabel = map[string]*topicSums{}
	own, others := map[string]bool{}, map[string]*otherTopic{}
	for i := range stats.Topics {
		t := &stats.Topics[i]
		if t.Topic == control.EndedTopics { // whose growth would look like messages that arrive
			continue
		}
		label := metrics.OtherTopics
		if c.others[t.Topic] == nil {
			label = labels.Label(t.Topic)
		}
		sums := byLabel[label]
		if sums == nil {
			sums = &topicSums{counts: counts{}}
			byLabel[label] = sums
		}
		sums.gauge(t, &stats)
		now := countsOf(t)
		if label == metrics.OtherTopics {
			others[t.Topic] = &otherTopic{t.Arrived(), now}
			c.grow(c.others[t.Topic], others[t.Topic])
			continue
		}
		own[t.Topic] = true
		for counter, n := range now {
			sums.counts[counter] += n
		}
	}
	c.own, c.others = own, others
	if c.other != nil {
		if byLabel[metrics.OtherTopics] == nil {
			byLabel[metrics.OtherTopics] = new(topicSums)
		}
		byLabel[metrics.OtherTopics].counts = maps.Clone(c.other)
	}
	return stats, byLabel, nil
}

// grow adds to the sums of the other topics what one of them has counted since the last scrape. before is nil for a
// new topic.
func (c *topicCounters) grow(before, now *otherTopic) {
	if c.other == nil {
		c.other = counts{}
	}
	if before == nil || now.arrived < before.arrived { // the topic has ended and came back
		before = new(otherTopic)
	}
	for counter, n := range now.counts {
		c.other[counter] += max(n-before.counts[counter], 0)
	}
}
