package face_test

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/cmd/record/internal/face"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestSummaryJSON: all keys, and texts that could control a terminal.
func TestSummaryJSON(t *testing.T) {
	t.Parallel()
	got, err := face.SummaryJSON(&control.Summary{
		File: "/bags/b_1.bag", Bytes: 70, Duration: 90 * time.Second, Missing: []string{"/never"}, EndedBy: "user request", DiskFull: true, Earlier: control.EarlierFiles{Files: 2},
		Files: []control.FileSummary{{File: "/bags/b_0.bag", Bytes: 30, Deleted: true}, {File: "/bags/b_1.bag", Bytes: 40, Snapshot: true}},
		Topics: []control.TopicSummary{{
			Topic: "/imu\u009b", Type: "a/B", Publishers: []control.PublisherSummary{{CallerID: "/n", Missed: 3}}, Former: control.FormerPublishers{Count: 1},
			Messages: 10, Bytes: 100, Dropped: map[string]uint64{"disk": 2, "link": 5}, LeftOut: 6, Passed: 8,
		}},
		Findings: []finding.Sum{
			{Topic: "/imu", Kind: finding.Silent, Episodes: 2, Time: 41500 * time.Millisecond, Open: true, Expected: true, Untold: 3},
			{Topic: "/gps", Kind: finding.Stamps, Episodes: 1, Time: time.Second},
		},
		Triggers: []control.TriggerStats{{Option: "mark-on", Expression: "x", Fired: 1, Suppressed: 2, Refused: 3, Skipped: 4, Errors: 5}},
	}, &control.HandoverStats{Waiting: 1, Done: 3, State: control.HandoverOK, StateSince: time.Now().Add(time.Hour)})
	const want = `{"file":"/bags/b_1.bag","files":[{"file":"/bags/b_0.bag","bytes":30,"deleted":true,"snapshot":false},` +
		`{"file":"/bags/b_1.bag","bytes":40,"deleted":false,"snapshot":true}],"earlier_files":2,` +
		`"elapsed":90,"bytes":70,"messages":10,"dropped":7,"missed":3,"lost":"7 messages were lost, 3 messages were published and never arrived","absent":["/never"],"ended_by":"user request","disk_full":true,` +
		`"episodes":[{"topic":"/imu","kind":"silent","episodes":2,"seconds":41.5,"open":true,"unmet":true,"untold":3},` +
		`{"topic":"/gps","kind":"stamps","episodes":1,"seconds":1,"open":false,"unmet":false,"untold":0}],` +
		`"uploads":{"waiting":1,"waiting_bytes":0,"done":3,"done_bytes":0,"sent":0,"failures":0,"refused":0,"lost":0,"error":"","store":{"state":"ok","for":0,"error":""}},` +
		`"triggers":[{"option":"mark-on","expression":"x","fired":1,"suppressed":2,"refused":3,"skipped":4,"errors":5}],` +
		`"topics":[{"topic":"/imu\u009b","type":"a/B","publishers":2,"messages":10,"bytes":100,"dropped":7,"causes":{"disk":2,"link":5},"missed":3,"left_out":6,"passed":8}]}` + "\n"
	if err != nil || string(got) != want {
		t.Errorf("got  %s (%v)\nwant %s", got, err, want)
	}
	if got, err := face.SummaryJSON(&control.Summary{}, nil); err != nil ||
		string(got) != `{"file":"","files":[],"earlier_files":0,"elapsed":0,"bytes":0,"messages":0,"dropped":0,"missed":0,"lost":"","absent":[],"ended_by":"","disk_full":false,"episodes":[],"topics":[]}`+"\n" {
		t.Errorf("of nothing: %s (%v)", got, err)
	}
}
