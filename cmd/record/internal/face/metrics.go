package face

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorosbag/gorosbag/internal/face/web/metrics"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// recordMetrics are described in docs/http.md.
var recordMetrics = describeRecording()

func describeRecording() *metrics.Set {
	d := new(metrics.Set)
	d.Add("gorecord_messages_total", "Messages taken in, by topic.", "topic")
	d.Add("gorecord_bytes_total", "Payload bytes of the messages taken in, by topic.", "topic")
	d.Add("gorecord_messages_dropped_total",
		"Messages that were received and are not in the bag, by cause; absent until there are some.", "topic",
		"cause")
	d.Add("gorecord_lost_total",
		"Messages of all topics that are not in the bag: dropped, by cause, or missed.", "cause")
	d.Add("gorecord_messages_missed_total",
		"Messages that were published and never arrived, as far as publishers number theirs.", "topic")
	d.Add("gorecord_messages_left_out_total", "Messages that --max-rate and --every left out.", "topic")
	d.Add("gorecord_messages_passed_total", "Messages that came while paused or stopped.", "topic")
	d.Add("gorecord_links_lost_total", "Connections to publishers that broke: neither side closed them.",
		"topic")
	d.Add("gorecord_publishers", "Publishers with a link, by topic.", "topic")
	d.Add("gorecord_publishers_refused",
		"Publishers that were not connected to, for want of memory or file descriptors.", "topic")
	d.Add("gorecord_last_message_age_seconds",
		"Time since the last message; without any, since the beginning.", "topic")
	d.Add("gorecord_findings",
		"Topics that are silent, slow or too fast now, or whose stamps are off, by kind.", "kind")
	d.Add("gorecord_finding_age_seconds",
		"How long a topic has been silent, slow, too fast, or with stamps that are off; absent while it is not.", "topic", "kind")
	d.Add("gorecord_episodes_total",
		"Times that topics were silent, slow or too fast, or their stamps off, by kind.", "kind")
	d.Add("gorecord_recording", "1 while messages are recorded, 0 while paused or stopped.")
	d.Add("gorecord_elapsed_seconds", "Time since the beginning.")
	d.Add("gorecord_file_bytes", "Bytes written to the present bag.")
	d.Add("gorecord_written_bytes_total", "Bytes written to all bags.")
	d.Add("gorecord_bags_finished_total", "Bags that were closed.")
	d.Add("gorecord_bags_deleted_total",
		"Bags that were deleted: to keep within limits, or after their upload.", "reason")
	d.Add("gorecord_snapshots_total", "Snapshots that were taken.")
	d.Add("gorecord_buffer_bytes", "Memory of the buffers in use.")
	d.Add("gorecord_buffer_limit_bytes", "Limit of the memory of the buffers; absent without a limit.")
	d.Add("gorecord_disk_free_bytes", "Free space on the disk that is recorded to; absent while not known.")
	d.Add("gorecord_disk_seconds_until_full",
		"Time until the recording ends for want of space; absent while not known.")
	d.Add("gorecord_uploads_waiting",
		"Finished bags that are not uploaded yet; absent without --upload, as all metrics of uploads and of the store are.")
	d.Add("gorecord_uploads_waiting_bytes", "Bytes of the finished bags that are not uploaded yet.")
	d.Add("gorecord_uploads_total", "Bags that were uploaded.")
	d.Add("gorecord_uploads_last_timestamp_seconds",
		"When the last bag was uploaded, since 1970; 0 before the first.")
	d.Add("gorecord_uploads_sent_bytes_total", "Bytes sent to the store, repetitions included.")
	d.Add("gorecord_uploads_failures_total", "Attempts to upload a bag that failed.")
	d.Add("gorecord_uploads_refused_total",
		"Bags that stay here because the store has other objects of their names.")
	d.Add("gorecord_uploads_lost_total", "Bags that were deleted before they were uploaded.")
	d.Add("gorecord_store_state", "1 for the state of the store, 0 for the others.", "state")
	d.Add("gorecord_store_state_seconds", "Time since the store got into this state.")
	for _, m := range triggerMetrics {
		d.Add(m.name, m.help, "option", "trigger")
	}
	d.Add("gorecord_write_seconds", "Times of writing to the bag.")
	d.Add("gorecord_fsync_seconds", "Times of waiting until the disk has what was written.")
	d.Add("gorecord_split_stall_seconds",
		"Times for which nothing was written because the next bag was opened; what arrives is buffered meanwhile.")
	return d
}

// triggerMetrics are the metrics of each trigger. The label trigger is the number of the trigger, from 0,
// in the order of the summary: expressions are too long for a label.
var triggerMetrics = []struct {
	name, help string
	value      func(*control.TriggerStats) uint64
}{
	{
		"gorecord_trigger_fired_total",
		"Times that a trigger has fired; absent without triggers, as all metrics of triggers are.",
		func(t *control.TriggerStats) uint64 { return t.Fired },
	},
	{
		"gorecord_trigger_suppressed_total",
		"Times that the expression of a trigger turned true within --trigger-pause after the trigger had fired.", func(t *control.TriggerStats) uint64 { return t.Suppressed },
	},
	{
		"gorecord_trigger_refused_total",
		"Times that a trigger fired and the recording did not do what the trigger asks for.",
		func(t *control.TriggerStats) uint64 { return t.Refused },
	},
	{
		"gorecord_trigger_skipped_total",
		"Messages of the topics of a trigger that were not evaluated: too large, or too many at once.",
		func(t *control.TriggerStats) uint64 { return t.Skipped },
	},
	{
		"gorecord_trigger_errors_total",
		"Messages for which the expression of a trigger could not be evaluated.",
		func(t *control.TriggerStats) uint64 { return t.Errors },
	},
}

// recordSums are the counts of the topics with one label.
type recordSums struct {
	messages, bytes, missed, leftOut, passed, links, publishers, refused float64
	causes                                                               map[string]float64
	// since the last message
	age time.Duration
}

func (s *recordSums) add(t *control.TopicStats, all *control.Stats) {
	s.messages += float64(t.Messages)
	s.bytes += float64(t.Bytes)
	s.missed += float64(t.Missed)
	s.leftOut += float64(t.LeftOut)
	s.passed += float64(t.Passed)
	s.links += float64(t.LinksLost)
	s.publishers += float64(t.Publishers)
	s.refused += float64(t.Refused)
	for cause, n := range t.Causes {
		if s.causes == nil {
			s.causes = map[string]float64{}
		}
		s.causes[cause] += float64(n)
	}
	age := all.Elapsed
	if !t.Last.IsZero() {
		age = max(all.Taken.Sub(t.Last), 0)
	}
	s.age = min(s.age, age)
}

// Describe implements prometheus.Collector.
func (f *Face) Describe(ch chan<- *prometheus.Desc) { recordMetrics.Describe(ch) }

// Collect implements prometheus.Collector. Without a recording there are no metrics.
func (f *Face) Collect(ch chan<- prometheus.Metric) {
	stats, err := f.control.Stats()
	if err != nil {
		return
	}
	d := recordMetrics
	d.Gauge(ch, "gorecord_recording", metrics.Bool(stats.State == control.StateRecording))
	d.Gauge(ch, "gorecord_elapsed_seconds", stats.Elapsed.Seconds())
	d.Gauge(ch, "gorecord_file_bytes", float64(stats.FileBytes))
	d.Counter(ch, "gorecord_written_bytes_total", float64(stats.Bytes))
	d.Counter(ch, "gorecord_bags_finished_total", float64(stats.Finished))
	uploaded := 0
	if stats.Handover != nil {
		uploaded = stats.Handover.Deleted
	}
	d.Counter(ch, "gorecord_bags_deleted_total", float64(stats.Deleted), "limits")
	d.Counter(ch, "gorecord_bags_deleted_total", float64(uploaded), "uploaded")
	d.Counter(ch, "gorecord_snapshots_total", float64(stats.Snapshots.Taken))
	d.Gauge(ch, "gorecord_buffer_bytes", float64(stats.Buffered))
	if stats.BufferMost >= 0 {
		d.Gauge(ch, "gorecord_buffer_limit_bytes", float64(stats.BufferMost))
	}
	if stats.DiskFree >= 0 {
		d.Gauge(ch, "gorecord_disk_free_bytes", float64(stats.DiskFree))
	}
	if stats.TimeLeft >= 0 {
		d.Gauge(ch, "gorecord_disk_seconds_until_full", stats.TimeLeft.Seconds())
	}
	collectUploads(ch, &stats)
	for i := range stats.Triggers {
		for _, m := range triggerMetrics {
			d.Counter(ch, m.name, float64(m.value(&stats.Triggers[i])), stats.Triggers[i].Option,
				strconv.Itoa(i))
		}
	}
	bounds := control.TimeBounds()
	for name, times := range map[string]*control.Times{
		"gorecord_write_seconds": &stats.Disk.Writes, "gorecord_fsync_seconds": &stats.Disk.Syncs,
		"gorecord_split_stall_seconds": &stats.Disk.Splits,
	} {
		d.Histogram(ch, name, times.Count, times.Sum, bounds, times.Classes[:])
	}
	collectTopics(ch, &stats)
	collectFindings(ch, &stats)
}

// storeStates are the values of the label state of gorecord_store_state.
var storeStates = []control.HandoverState{
	control.HandoverUnchecked, control.HandoverOK, control.HandoverUnreachable, control.HandoverFailing,
}

func collectUploads(ch chan<- prometheus.Metric, stats *control.Stats) {
	h := stats.Handover
	if h == nil {
		return
	}
	d := recordMetrics
	d.Gauge(ch, "gorecord_uploads_waiting", float64(h.Waiting))
	d.Gauge(ch, "gorecord_uploads_waiting_bytes", float64(h.WaitingBytes))
	d.Counter(ch, "gorecord_uploads_total", float64(h.Done))
	last := 0.0
	if !h.LastDone.IsZero() {
		last = float64(h.LastDone.UnixMilli()) / 1e3
	}
	d.Gauge(ch, "gorecord_uploads_last_timestamp_seconds", last)
	d.Counter(ch, "gorecord_uploads_sent_bytes_total", float64(h.Sent))
	d.Counter(ch, "gorecord_uploads_failures_total", float64(h.Failures))
	d.Counter(ch, "gorecord_uploads_refused_total", float64(h.Refused))
	d.Counter(ch, "gorecord_uploads_lost_total", float64(h.Lost))
	for _, state := range storeStates {
		d.Gauge(ch, "gorecord_store_state", metrics.Bool(h.State == state), state.String())
	}
	d.Gauge(ch, "gorecord_store_state_seconds", max(stats.Taken.Sub(h.StateSince), 0).Seconds())
}

// missedCause is the cause of messages that were published and never arrived, beside the causes of drops.
const missedCause = "missed"

func collectTopics(ch chan<- prometheus.Metric, stats *control.Stats) {
	d := recordMetrics
	var labels metrics.Labels
	sums := map[string]*recordSums{}
	lost := map[string]float64{missedCause: 0}
	for _, cause := range control.DropCauseNames() {
		lost[cause] = 0
	}
	for i := range stats.Topics {
		// whose growth would look like messages that arrive
		if name := stats.Topics[i].Topic; name != control.EndedTopics {
			label := labels.Label(name)
			if sums[label] == nil {
				sums[label] = &recordSums{age: stats.Elapsed}
			}
			sums[label].add(&stats.Topics[i], stats)
		}
		lost[missedCause] += float64(stats.Topics[i].Missed)
		for cause, n := range stats.Topics[i].Causes {
			lost[cause] += float64(n)
		}
	}
	for cause, n := range lost {
		d.Counter(ch, "gorecord_lost_total", n, cause)
	}
	for topic, s := range sums {
		d.Counter(ch, "gorecord_messages_total", s.messages, topic)
		d.Counter(ch, "gorecord_bytes_total", s.bytes, topic)
		d.Counter(ch, "gorecord_messages_missed_total", s.missed, topic)
		d.Counter(ch, "gorecord_messages_left_out_total", s.leftOut, topic)
		d.Counter(ch, "gorecord_messages_passed_total", s.passed, topic)
		d.Counter(ch, "gorecord_links_lost_total", s.links, topic)
		d.Gauge(ch, "gorecord_publishers", s.publishers, topic)
		d.Gauge(ch, "gorecord_publishers_refused", s.refused, topic)
		d.Gauge(ch, "gorecord_last_message_age_seconds", s.age.Seconds(), topic)
		for cause, n := range s.causes {
			d.Counter(ch, "gorecord_messages_dropped_total", n, topic, cause)
		}
	}
}
