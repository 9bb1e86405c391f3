package face

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/metrics"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// named is how many topics a line about findings names.
const named = 4

// findingJSON is something that is wrong with a topic now.
type findingJSON struct {
	Topic    string   `json:"topic"` // or an expected glob that no topic matches
	Kind     string   `json:"kind"`  // silent, slow, fast or stamps
	Cause    string   `json:"cause,omitempty"`
	For      float64  `json:"for"`
	Hz       *float64 `json:"hz,omitempty"`
	Want     *float64 `json:"want,omitempty"`   // the rate that is usual or expected
	Offset   *float64 `json:"offset,omitempty"` // how much older than their arrival stamps are
	Expected bool     `json:"expected"`         // the user has written what to expect
	Text     string   `json:"text"`
}

// episodesJSON is the account of what was wrong with a topic, until now.
type episodesJSON struct {
	Topic    string  `json:"topic"`
	Kind     string  `json:"kind"`
	Episodes int     `json:"episodes"`
	Seconds  float64 `json:"seconds"`
	Open     bool    `json:"open"`   // the last one goes on, or did so at the end
	Unmet    bool    `json:"unmet"`  // an expectation was not met, so that the exit code will be 3
	Untold   int     `json:"untold"` // silences besides, too soon after the topic had come back to count
}

func findings(stats *control.Stats) []findingJSON {
	all := make([]findingJSON, 0, len(stats.Findings))
	for i := range stats.Findings {
		f := &stats.Findings[i]
		j := findingJSON{
			Topic: f.Topic, Kind: f.Kind.Key(), Cause: f.Cause.String(), For: web.Seconds(f.For),
			Expected: f.Expected, Text: f.Brief(),
		}
		switch {
		case f.Kind == finding.Slow || f.Kind == finding.Fast:
			j.Hz, j.Want = shownHz(f.Hz), shownHz(f.Want)
		case f.Offset != 0:
			offset := web.Seconds(f.Offset)
			j.Offset = &offset
		}
		all = append(all, j)
	}
	return all
}

// shownHz is a rate as the text of a finding has it: half a hertz is no less exact than 30.
func shownHz(hz float64) *float64 {
	if shown, err := strconv.ParseFloat(finding.Hz(hz), 64); err == nil {
		return &shown
	}
	return nil
}

func episodes(sums []finding.Sum) []episodesJSON {
	all := make([]episodesJSON, 0, len(sums))
	for _, s := range sums {
		all = append(all,
			episodesJSON{
				s.Topic, s.Kind.Key(), s.Episodes, web.Seconds(s.Time), s.Open, s.Expected,
				s.Untold,
			})
	}
	return all
}

// problems returns what is wrong with topics, by topic.
func problems(stats *control.Stats) map[string][]string {
	all := map[string][]string{}
	for i := range stats.Findings {
		f := &stats.Findings[i]
		all[f.Topic] = append(all[f.Topic], f.Brief())
	}
	return all
}

// wrong returns what is wrong with topics as one text; empty if nothing is.
func wrong(stats *control.Stats) string {
	return strings.Join(finding.Headlines(stats.Findings, named), "; ")
}

// collectFindings gives the age of each finding, of no more topics than have labels, and how many there are.
func collectFindings(ch chan<- prometheus.Metric, stats *control.Stats) {
	d := recordMetrics
	var now, ever [finding.Kinds]float64
	var labels metrics.Labels
	type key struct{ topic, kind string }
	ages := map[key]float64{}
	for i := range stats.Findings {
		f := &stats.Findings[i]
		now[f.Kind]++
		k := key{labels.Label(f.Topic), f.Kind.Key()}
		ages[k] = max(ages[k], f.For.Seconds())
	}
	for i := range stats.Episodes {
		ever[stats.Episodes[i].Kind] += float64(stats.Episodes[i].Episodes)
	}
	for k, age := range ages {
		d.Gauge(ch, "gorecord_finding_age_seconds", age, k.topic, k.kind)
	}
	for k := range finding.Kinds {
		d.Gauge(ch, "gorecord_findings", now[k], k.Key())
		d.Counter(ch, "gorecord_episodes_total", ever[k], k.Key())
	}
}
