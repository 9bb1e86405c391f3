// Package metrics describes the metrics of a program for Prometheus, and converts topic names to labels:
// a limited number, of limited length, in valid UTF-8.
package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Limits of the labels: topic names come from the graph, and Prometheus stores a series for each.
const (
	maxTopics     = 500
	maxTopicBytes = 256
	otherTopics   = "other" // the sum of the topics beyond maxTopics; not a valid topic name
)

// Set holds the descriptions of the metrics of a program. The zero value has none.
type Set struct {
	order []*prometheus.Desc
	names map[string]*prometheus.Desc
}

// Add adds a metric.
func (s *Set) Add(name, help string, labels ...string) {
	if s.names == nil {
		s.names = map[string]*prometheus.Desc{}
	}
	desc := prometheus.NewDesc(name, help, labels, nil)
	s.names[name] = desc
	s.order = append(s.order, desc)
}

// Describe sends the descriptions.
func (s *Set) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range s.order {
		ch <- desc
	}
}

// Gauge sends the value of a gauge.
func (s *Set) Gauge(ch chan<- prometheus.Metric, name string, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(s.names[name], prometheus.GaugeValue, value, labels...)
}

// Counter sends the value of a counter.
func (s *Set) Counter(ch chan<- prometheus.Metric, name string, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(s.names[name], prometheus.CounterValue, value, labels...)
}

// Histogram sends a histogram of durations. The classes do not overlap; buckets are cumulative.
func (s *Set) Histogram(ch chan<- prometheus.Metric, name string, count uint64, sum time.Duration,
	bounds []time.Duration, classes []uint64,
) {
	buckets, n := make(map[float64]uint64, len(bounds)), uint64(0)
	for i, bound := range bounds {
		n += classes[i]
		buckets[bound.Seconds()] = n
	}
	ch <- prometheus.MustNewConstHistogram(s.names[name], count, sum.Seconds(), buckets)
}

// Bool converts a condition to 1 or 0.
func Bool(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Labels converts topic names to labels: a limited number, of limited length, in valid UTF-8.
// The zero value has given none.
type Labels struct{ seen map[string]bool }

// Label returns the label of a topic.
func (l *Labels) Label(topic string) string {
	name := strings.ToValidUTF8(topic, "\uFFFD")
	if len(name) > maxTopicBytes {
		name = strings.ToValidUTF8(name[:maxTopicBytes], "")
	}
	switch {
	case l.seen[name]:
	case len(l.seen) >= maxTopics:
		return otherTopics
	case l.seen == nil:
		l.seen = map[string]bool{name: true}
	default:
		l.seen[name] = true
	}
	return name
}
