package recordface_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gorosbag/gorosbag/internal/recordface"
	"github.com/gorosbag/gorosbag/internal/web/webtest"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestMetricsAreDescribed checks that docs/http.md describes the metrics that are served.
func TestMetricsAreDescribed(t *testing.T) {
	t.Parallel()
	webtest.CheckMetrics(t, recordface.New(new(recorder.Control), time.Minute), "../../docs/http.md")
}

// TestCommandsAreDescribed checks that docs/http.md lists the commands that are served.
func TestCommandsAreDescribed(t *testing.T) {
	t.Parallel()
	webtest.CheckCommands(t, "gorecord", recordface.New(new(recorder.Control), time.Minute).Commands(), "../../docs/http.md")
}

// TestMetrics: losses are there by topic and cause and, over all topics, with the causes that have not occurred. Topics
// that ended count in the sums only.
func TestMetrics(t *testing.T) {
	t.Parallel()
	face, f := recordingTo(control.TopicStats{Topic: "/a", Messages: 5, Dropped: 3, Causes: map[string]uint64{"disk": 1, "udp": 2}, Missed: 4, LeftOut: 6, Passed: 7}, control.TopicStats{Topic: "/b"},
		control.TopicStats{Topic: control.EndedTopics, Messages: 50, Dropped: 1, Causes: map[string]uint64{"link": 1}, Missed: 1})
	f.change(func(s *control.Stats) {
		s.Elapsed, s.DiskFree = time.Minute, 5000
		s.Topics[1].Last = s.Taken.Add(-time.Second)
		s.Triggers = []control.TriggerStats{{Option: "mark-on"}, {Option: "mark-on", Fired: 2}}
		s.Handover = &control.HandoverStats{Deleted: 9, State: control.HandoverFailing}
	})
	const want = `
# HELP gorecord_bags_deleted_total Bags that were deleted: to keep within limits, or after their upload.
# TYPE gorecord_bags_deleted_total counter
gorecord_bags_deleted_total{reason="limits"} 0
gorecord_bags_deleted_total{reason="uploaded"} 9
# HELP gorecord_disk_free_bytes Free space on the disk that is recorded to; absent while not known.
# TYPE gorecord_disk_free_bytes gauge
gorecord_disk_free_bytes 5000
# HELP gorecord_last_message_age_seconds Time since the last message; without any, since the beginning.
# TYPE gorecord_last_message_age_seconds gauge
gorecord_last_message_age_seconds{topic="/a"} 60
gorecord_last_message_age_seconds{topic="/b"} 1
# HELP gorecord_lost_total Messages of all topics that are not in the bag: dropped, by cause, or missed.
# TYPE gorecord_lost_total counter
gorecord_lost_total{cause="deleted"} 0
gorecord_lost_total{cause="disk"} 1
gorecord_lost_total{cause="hurried_end"} 0
gorecord_lost_total{cause="link"} 1
gorecord_lost_total{cause="missed"} 5
gorecord_lost_total{cause="oversize"} 0
gorecord_lost_total{cause="queue_full"} 0
gorecord_lost_total{cause="udp"} 2
# HELP gorecord_messages_dropped_total Messages that were received and are not in the bag, by cause; absent until there are some.
# TYPE gorecord_messages_dropped_total counter
gorecord_messages_dropped_total{cause="disk",topic="/a"} 1
gorecord_messages_dropped_total{cause="udp",topic="/a"} 2
# HELP gorecord_messages_left_out_total Messages that --max-rate and --every left out.
# TYPE gorecord_messages_left_out_total counter
gorecord_messages_left_out_total{topic="/a"} 6
gorecord_messages_left_out_total{topic="/b"} 0
# HELP gorecord_messages_passed_total Messages that came while paused or stopped.
# TYPE gorecord_messages_passed_total counter
gorecord_messages_passed_total{topic="/a"} 7
gorecord_messages_passed_total{topic="/b"} 0
# HELP gorecord_store_state 1 for the state of the store, 0 for the others.
# TYPE gorecord_store_state gauge
gorecord_store_state{state="failing"} 1
gorecord_store_state{state="ok"} 0
gorecord_store_state{state="unchecked"} 0
gorecord_store_state{state="unreachable"} 0
# HELP gorecord_trigger_fired_total Times that a trigger has fired; absent without triggers, as all metrics of triggers are.
# TYPE gorecord_trigger_fired_total counter
gorecord_trigger_fired_total{option="mark-on",trigger="0"} 0
gorecord_trigger_fired_total{option="mark-on",trigger="1"} 2
`
	// Not known and therefore absent: the limit of the buffer, and the time until the disk is full.
	names := []string{
		"gorecord_bags_deleted_total", "gorecord_disk_free_bytes", "gorecord_last_message_age_seconds", "gorecord_lost_total", "gorecord_messages_dropped_total",
		"gorecord_messages_left_out_total", "gorecord_messages_passed_total",
		"gorecord_store_state", "gorecord_trigger_fired_total", "gorecord_buffer_limit_bytes", "gorecord_disk_seconds_until_full",
	}
	if err := testutil.CollectAndCompare(face, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

// TestCountersOfOtherTopics: whichever topics end, the counters of the topics that have no label of their own do not
// fall, and they grow by what these topics count only.
func TestCountersOfOtherTopics(t *testing.T) {
	t.Parallel()
	face, f := recordingTo()
	check := func(what string, other uint64, topics ...string) {
		t.Helper()
		var want strings.Builder
		want.WriteString("# HELP gorecord_messages_total Messages taken in, by topic.\n# TYPE gorecord_messages_total counter\n")
		f.change(func(s *control.Stats) {
			for i := range s.Topics {
				if name := s.Topics[i].Topic; name < "/t500" || slices.Contains(topics, name) {
					fmt.Fprintf(&want, "gorecord_messages_total{topic=%q} %d\n", name, s.Topics[i].Messages)
				}
			}
		})
		fmt.Fprintf(&want, "gorecord_messages_total{topic=\"other\"} %d\n", other)
		if err := testutil.CollectAndCompare(face, strings.NewReader(want.String()), "gorecord_messages_total"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	end := func(name string) {
		f.change(func(s *control.Stats) {
			s.Topics = slices.DeleteFunc(s.Topics, func(t control.TopicStats) bool { return t.Topic == name })
		})
	}
	add := func(name string, messages uint64) {
		f.change(func(s *control.Stats) {
			s.Topics = append(s.Topics, control.TopicStats{Topic: name, Messages: messages})
		})
	}
	for i := range 502 {
		add(fmt.Sprintf("/t%03d", i), 10)
	}
	check("two topics beyond the limit", 20)
	end("/t500")
	check("one of them has ended", 20)
	end("/t000")
	check("a topic with a label has ended", 20)
	add("/t600", 7)
	check("a new topic gets its label", 20, "/t600")
	add("/t601", 5)
	check("another one is beyond the limit", 25, "/t600")
	f.change(func(s *control.Stats) {
		for i := range s.Topics {
			s.Topics[i].Messages++
		}
	})
	check("each topic has a message more", 27, "/t600")
	end("/t601")
	add("/t601", 4)
	check("a topic has ended and came back", 31, "/t600")
	end("/t501")
	end("/t601")
	check("there are no others", 31, "/t600")
}
