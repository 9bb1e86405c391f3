package web

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorosbag/gorosbag/player/control"
)

// playMetrics are described in docs/http.md.
var playMetrics = describePlayback() //nolint:gochecknoglobals // a constant, but for the language

func describePlayback() *descs {
	d := new(descs)
	d.metric("goplay_messages_total", "Messages published, by topic.", "topic")
	d.metric("goplay_bytes_total", "Bytes of their payload.", "topic")
	d.metric("goplay_messages_dropped_total", "Messages that subscribers did not get because their queues were full.", "topic")
	d.metric("goplay_damaged_places_total", "Places of the bags that are damaged or could not be read.")
	d.metric("goplay_lost_in_damage_total", "Messages that were lost with them, at most; absent while their number is unknown.")
	d.metric("goplay_subscribers", "Subscribers that are linked.", "topic")
	d.metric("goplay_playing", "1 while messages are published, 0 while paused or not begun.")
	d.metric("goplay_lag_seconds", "How long after its time the last message went out.")
	d.metric("goplay_rate_requested", "Bag time per wall time that was asked for.")
	d.metric("goplay_rate_achieved", "Bag time per wall time so far; absent while not known.")
	d.metric("goplay_position_seconds", "Where play is, from the first message.")
	d.metric("goplay_length_seconds", "From the first to the last message.")
	d.metric("goplay_passes_total", "Complete passes of a loop.")
	d.metric("goplay_starved_total", "Times that play waited for the disk or for decompression.")
	d.metric("goplay_read_ahead_bytes", "Bytes that are read and not published yet.")
	d.metric("goplay_waiting_for", "Topics and subscribers that hold play up.")
	return d
}

// Collect implements prometheus.Collector. Before Attach there are no metrics.
func (f *Player) Collect(ch chan<- prometheus.Metric) {
	c, err := f.controlOrError()
	if err != nil {
		return
	}
	stats, d := c.Stats(), playMetrics
	d.gauge(ch, "goplay_playing", boolean(stats.Phase == control.PhasePlay && !stats.Paused))
	d.gauge(ch, "goplay_lag_seconds", stats.Late.Seconds())
	d.gauge(ch, "goplay_rate_requested", stats.Rate)
	if stats.Achieved > 0 {
		d.gauge(ch, "goplay_rate_achieved", stats.Achieved)
	}
	d.gauge(ch, "goplay_position_seconds", stats.Position.Seconds())
	d.gauge(ch, "goplay_length_seconds", stats.Length.Seconds())
	d.counter(ch, "goplay_passes_total", float64(stats.Pass))
	d.counter(ch, "goplay_starved_total", float64(stats.Starved))
	d.counter(ch, "goplay_damaged_places_total", float64(stats.Damage.Places))
	if stats.Damage.Unknown == 0 {
		d.counter(ch, "goplay_lost_in_damage_total", float64(stats.Damage.Messages))
	}
	d.gauge(ch, "goplay_read_ahead_bytes", float64(stats.AheadBytes))
	d.gauge(ch, "goplay_waiting_for", float64(len(stats.WaitingFor)))
	var labels labeler
	sums := map[string]*[4]float64{}
	for i := range stats.Topics {
		t := &stats.Topics[i]
		label := labels.label(t.Name)
		if sums[label] == nil {
			sums[label] = new([4]float64)
		}
		for n, v := range [4]float64{float64(t.Messages), float64(t.Bytes), float64(t.Dropped), float64(len(t.Subscribers))} {
			sums[label][n] += v
		}
	}
	for topic, s := range sums {
		d.counter(ch, "goplay_messages_total", s[0], topic)
		d.counter(ch, "goplay_bytes_total", s[1], topic)
		d.counter(ch, "goplay_messages_dropped_total", s[2], topic)
		d.gauge(ch, "goplay_subscribers", s[3], topic)
	}
}
