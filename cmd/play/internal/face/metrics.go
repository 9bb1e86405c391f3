package face

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorosbag/gorosbag/internal/face/web/metrics"
	"github.com/gorosbag/gorosbag/player/control"
)

// playMetrics are described in docs/http.md.
var playMetrics = describePlayback()

func describePlayback() *metrics.Set {
	d := new(metrics.Set)
	d.Add("goplay_messages_total", "Messages published, by topic.", "topic")
	d.Add("goplay_bytes_total", "Payload bytes of the messages published, by topic.", "topic")
	d.Add("goplay_messages_dropped_total",
		"Messages that subscribers did not get because their queues were full.", "topic")
	d.Add("goplay_damaged_places_total", "Places of the bags that are damaged or could not be read.")
	d.Add("goplay_lost_in_damage_total",
		"Messages lost with damaged places of the bags, at most; absent while their number is unknown.")
	d.Add("goplay_subscribers", "Subscribers with a link, by topic.", "topic")
	d.Add("goplay_playing", "1 while messages are published, 0 while paused or not begun.")
	d.Add("goplay_lag_seconds", "How long after its time the last message was published.")
	d.Add("goplay_rate_requested", "Bag time per wall time that was asked for.")
	d.Add("goplay_rate_achieved", "Bag time per wall time so far; absent while not known.")
	d.Add("goplay_position_seconds", "Where play is, from the first message.")
	d.Add("goplay_length_seconds", "From the first to the last message.")
	d.Add("goplay_passes_total", "Complete passes of a loop.")
	d.Add("goplay_starved_total", "Times that play waited for the disk or for decompression.")
	d.Add("goplay_read_ahead_bytes", "Bytes that are read and not published yet.")
	d.Add("goplay_waiting_for", "Topics and subscribers that hold play up.")
	return d
}

// Describe implements prometheus.Collector.
func (f *Face) Describe(ch chan<- *prometheus.Desc) { playMetrics.Describe(ch) }

// Collect implements prometheus.Collector. Before Attach there are no metrics.
func (f *Face) Collect(ch chan<- prometheus.Metric) {
	c, err := f.controlOrError()
	if err != nil {
		return
	}
	stats, d := c.Stats(), playMetrics
	d.Gauge(ch, "goplay_playing", metrics.Bool(stats.Phase == control.PhasePlay && !stats.Paused))
	d.Gauge(ch, "goplay_lag_seconds", stats.Late.Seconds())
	d.Gauge(ch, "goplay_rate_requested", stats.Rate)
	if stats.Achieved() > 0 {
		d.Gauge(ch, "goplay_rate_achieved", stats.Achieved())
	}
	d.Gauge(ch, "goplay_position_seconds", stats.Position.Seconds())
	d.Gauge(ch, "goplay_length_seconds", stats.Length.Seconds())
	d.Counter(ch, "goplay_passes_total", float64(stats.Pass))
	d.Counter(ch, "goplay_starved_total", float64(stats.Starved))
	d.Counter(ch, "goplay_damaged_places_total", float64(stats.Damage.Places))
	if stats.Damage.Unknown == 0 {
		d.Counter(ch, "goplay_lost_in_damage_total", float64(stats.Damage.Messages))
	}
	d.Gauge(ch, "goplay_read_ahead_bytes", float64(stats.AheadBytes))
	d.Gauge(ch, "goplay_waiting_for", float64(len(stats.WaitingFor)))
	var labels metrics.Labels
	sums := map[string]*[4]float64{}
	for i := range stats.Topics {
		t := &stats.Topics[i]
		label := labels.Label(t.Name)
		if sums[label] == nil {
			sums[label] = new([4]float64)
		}
		for n, v := range [4]float64{
			float64(t.Messages), float64(t.Bytes), float64(t.Dropped),
			float64(len(t.Subscribers)),
		} {
			sums[label][n] += v
		}
	}
	for topic, s := range sums {
		d.Counter(ch, "goplay_messages_total", s[0], topic)
		d.Counter(ch, "goplay_bytes_total", s[1], topic)
		d.Counter(ch, "goplay_messages_dropped_total", s[2], topic)
		d.Gauge(ch, "goplay_subscribers", s[3], topic)
	}
}
