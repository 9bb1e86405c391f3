package face_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gorosbag/gorosbag/cmd/record/internal/face"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestMetricsAreDescribed checks that docs/http.md describes the metrics that are served.
func TestMetricsAreDescribed(t *testing.T) {
	t.Parallel()
	webtest.CheckMetrics(t, face.New(new(recorder.Control), time.Minute), "../../../../docs/http.md")
}

// TestControlIsDescribed checks that docs/control.md lists the services that are offered.
func TestControlIsDescribed(t *testing.T) {
	t.Parallel()
	webtest.CheckControl(t, "gorecord", face.New(nil, 0).Commands(), "../../../../docs/control.md")
}

// TestCommandsAreDescribed checks that docs/http.md lists the commands that are served.
func TestCommandsAreDescribed(t *testing.T) {
	t.Parallel()
	webtest.CheckCommands(t, "gorecord", face.New(new(recorder.Control), time.Minute).Commands(), "../../../../docs/http.md")
}

// TestMetrics: losses are there by topic and cause and, over all topics, with the causes that have not occurred. Topics
// that ended count in the sums only.
func TestMetrics(t *testing.T) {
	t.Parallel()
	ui, f := recordingTo(control.TopicStats{Topic: "/a", Messages: 5, Dropped: 3, Causes: map[string]uint64{"disk": 1, "udp": 2}, Missed: 4, LeftOut: 6, Passed: 7}, control.TopicStats{Topic: "/b"},
		control.TopicStats{Topic: control.EndedTopics, Messages: 50, Dropped: 1, Causes: map[string]uint64{"link": 1}, Missed: 1})
	f.change(func(s *control.Stats) {
		s.Elapsed, s.DiskFree = time.Minute, 5000
		s.Topics[1].Last = s.Taken.Add(-time.Second)
		s.Triggers = []control.TriggerStats{{Option: "mark-on"}, {Option: "mark-on", Fired: 2}}
		s.Findings = found()
		s.Episodes = []finding.Sum{{Topic: "/a", Kind: finding.Silent, Episodes: 2}, {Topic: "/c", Kind: finding.Silent, Episodes: 3}}
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
# HELP gorecord_episodes_total Times that topics were silent, slow or too fast, or their stamps off, by kind.
# TYPE gorecord_episodes_total counter
gorecord_episodes_total{kind="fast"} 0
gorecord_episodes_total{kind="silent"} 5
gorecord_episodes_total{kind="slow"} 0
gorecord_episodes_total{kind="stamps"} 0
# HELP gorecord_finding_age_seconds How long a topic has been silent, slow, too fast, or with stamps that are off; absent while it is not.
# TYPE gorecord_finding_age_seconds gauge
gorecord_finding_age_seconds{kind="silent",topic="/a"} 41
gorecord_finding_age_seconds{kind="slow",topic="/b"} 0
gorecord_finding_age_seconds{kind="stamps",topic="/a"} 0
# HELP gorecord_findings Topics that are silent, slow or too fast now, or whose stamps are off, by kind.
# TYPE gorecord_findings gauge
gorecord_findings{kind="fast"} 0
gorecord_findings{kind="silent"} 1
gorecord_findings{kind="slow"} 1
gorecord_findings{kind="stamps"} 1
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
		"gorecord_findings", "gorecord_finding_age_seconds", "gorecord_episodes_total",
		"gorecord_bags_deleted_total", "gorecord_disk_free_bytes", "gorecord_last_message_age_seconds", "gorecord_lost_total", "gorecord_messages_dropped_total",
		"gorecord_messages_left_out_total", "gorecord_messages_passed_total",
		"gorecord_store_state", "gorecord_trigger_fired_total", "gorecord_buffer_limit_bytes", "gorecord_disk_seconds_until_full",
	}
	if err := testutil.CollectAndCompare(ui, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}
