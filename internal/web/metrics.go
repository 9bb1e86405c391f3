package web

import (
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Limits of the labels: topic names come from the graph, and Prometheus stores a series for each.
const (
	maxTopics     = 500
	maxTopicBytes = 256
	otherTopics   = "other" // the sum of the topics beyond maxTopics; not a valid topic name
)

// exportMetrics serves the metrics for Prometheus.
func (s *Server) exportMetrics() {
	name := s.backend.program()
	s.metrics.MustRegister(
		s.backend,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name + "_healthy", Help: "1 while /healthz has no problem."},
			func() float64 { return boolean(s.health(s.poller.cached(minPollInterval)).Status == healthy) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name + "_build_info", Help: "Always 1.", ConstLabels: buildLabels()}, func() float64 { return 1 }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name + "_master_up", Help: "1 while the ROS master answers."},
			func() float64 { return boolean(s.MasterUp()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name + "_info", Help: "Always 1.", ConstLabels: prometheus.Labels{"version": s.Version, "node": s.Node},
		}, func() float64 { return 1 }),
	)
	h := promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 4, DisableCompression: true, ErrorHandling: promhttp.ContinueOnError})
	s.handle("GET /metrics", h.ServeHTTP)
}

// buildLabels say what the program was built from.
func buildLabels() prometheus.Labels {
	labels := prometheus.Labels{"version": "", "revision": "", "goversion": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		labels["version"] = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				labels["revision"] = s.Value
			}
		}
	}
	return labels
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// descs are the metric descriptions of a backend.
type descs struct {
	order []*prometheus.Desc
	names map[string]*prometheus.Desc
}

// metric adds a metric.
func (d *descs) metric(name, help string, labels ...string) {
	if d.names == nil {
		d.names = map[string]*prometheus.Desc{}
	}
	desc := prometheus.NewDesc(name, help, labels, nil)
	d.names[name] = desc
	d.order = append(d.order, desc)
}

func (d *descs) describe(ch chan<- *prometheus.Desc) {
	for _, desc := range d.order {
		ch <- desc
	}
}

// gauge sends the value of a gauge.
func (d *descs) gauge(ch chan<- prometheus.Metric, name string, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d.names[name], prometheus.GaugeValue, value, labels...)
}

// counter sends the value of a counter.
func (d *descs) counter(ch chan<- prometheus.Metric, name string, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d.names[name], prometheus.CounterValue, value, labels...)
}

// histogram sends a histogram of durations. The classes do not overlap; buckets are cumulative.
func (d *descs) histogram(ch chan<- prometheus.Metric, name string, count uint64, sum time.Duration, bounds []time.Duration, classes []uint64) {
	buckets, n := make(map[float64]uint64, len(bounds)), uint64(0)
	for i, bound := range bounds {
		n += classes[i]
		buckets[bound.Seconds()] = n
	}
	ch <- prometheus.MustNewConstHistogram(d.names[name], count, sum.Seconds(), buckets)
}

// labeler converts topic names to labels: a limited number, of limited length, in valid UTF-8.
type labeler struct{ seen map[string]bool }

func (l *labeler) label(topic string) string {
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
