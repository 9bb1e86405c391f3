package web

import (
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gorosbag/gorosbag/internal/face/web/metrics"
)

// exportMetrics serves the metrics for Prometheus.
func (s *Server) exportMetrics() {
	name := s.backend.Program()
	s.metrics.MustRegister(
		s.backend,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name + "_healthy",
			Help: "1 while /healthz has no problem.",
		},
			func() float64 {
				return metrics.Bool(s.health(s.poller.cached(minPollInterval)).Status == healthy)
			}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name + "_build_info", Help: "Always 1.",
			ConstLabels: buildLabels(),
		}, func() float64 { return 1 }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name + "_master_up",
			Help: "1 while the ROS master answers.",
		},
			func() float64 { return metrics.Bool(s.options.MasterUp()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name + "_info", Help: "Always 1.",
			ConstLabels: prometheus.Labels{"version": s.options.Version, "node": s.options.Node},
		}, func() float64 { return 1 }),
	)
	s.metrics.MustRegister(viewerMetrics(s.options.Live, name)...)
	h := promhttp.HandlerFor(s.metrics,
		promhttp.HandlerOpts{
			EnableOpenMetrics: true, MaxRequestsInFlight: 4, DisableCompression: true,
			ErrorHandling: promhttp.ContinueOnError,
		})
	s.Handle("GET /metrics", h.ServeHTTP)
}

// buildLabels returns the version, the revision of the source, and the version of Go.
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
