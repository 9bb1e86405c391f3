package rosctl

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/tcpros"
)

// shown is what ROS's tools see of a status.
type shown struct {
	Header struct{ Seq uint32 }
	Status []struct {
		Level         byte
		Name, Message string
		Values        []struct{ Key, Value string }
	}
}

func (s *shown) value(status int, key string) string {
	for _, v := range s.Status[status].Values {
		if v.Key == key {
			return v.Value
		}
	}
	return "no " + key
}

func show(t *testing.T, frame []byte) *shown {
	t.Helper()
	typ, err := rosmsg.Parse(tcpros.DiagnosticArrayType, tcpros.DiagnosticArrayDefinition)
	if err != nil {
		t.Fatal(err)
	}
	text, err := typ.AppendJSON(nil, frame[4:], rosmsg.JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := new(shown)
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRecordStatus(t *testing.T) {
	t.Parallel()
	r := recordReport{name: "/rec"}
	start := time.Now()
	before := control.Stats{
		Taken: start, File: "a.bag", DiskFree: -1, TimeLeft: -1, BufferMost: -1,
		Topics: []control.TopicStats{{Topic: "/imu", Publishers: 1, Messages: 100}},
	}
	first := show(t, r.status(before, nil))
	if got := first.value(0, "disk free bytes") + ", " + first.value(0, "buffer limit"); got != "unknown, none" {
		t.Errorf("free, limit: %s", got)
	}
	now := control.Stats{
		Taken: start.Add(2 * time.Second), State: control.StatePaused, File: "b.bag", Part: 1, DiskFree: 5000, TimeLeft: 90 * time.Second,
		Topics: []control.TopicStats{
			{Topic: "/imu", Publishers: 1, Messages: 200, Dropped: 50, Missed: 3, Passed: 50, Bytes: 2048, Last: start.Add(time.Second)},
			{Topic: "/odom", Type: "nav_msgs/Odometry", Messages: 7},
			{Topic: "/crashed"},
		},
	}
	s := show(t, r.status(now, nil))
	var got []string
	for _, status := range s.Status {
		got = append(got, string('0'+rune(status.Level))+" "+status.Name+" = "+status.Message)
	}
	want := []string{
		"1 /rec: recording = paused: b.bag; 50 dropped; 3 never arrived; the disk will be full in 1m30s",
		"1 /rec: /imu = 100.0 Hz, 2.0 KiB; 50 dropped; 3 never arrived",
		"3 /rec: /odom = no publisher",
		"3 /rec: /crashed = no publisher",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{"state": "paused", "file": "b.bag", "part": "1", "disk free bytes": "5000", "dropped": "50", "missed": "3"} {
		if got := s.value(0, key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	for key, want := range map[string]string{"messages": "200", "hz": "100.0", "while paused or stopped": "50", "seconds since the last": "1.0"} {
		if got := s.value(1, key); got != want {
			t.Errorf("/imu: %s: %s, want %s", key, got, want)
		}
	}
	if n := len(s.Status[3].Values); n != 0 || s.value(2, "messages") != "7" {
		t.Errorf("a topic that never had a publisher has %d values, one that had: %s messages", n, s.value(2, "messages"))
	}
	ready := control.Stats{Taken: start, Snapshots: control.SnapshotStats{Mode: control.SnapshotOnly, Taken: 2, Held: 5 * time.Second}, TimeLeft: -1}
	if s := show(t, new(recordReport).status(ready, nil)); s.Status[0].Message != "recording for snapshots" || s.value(0, "seconds before a snapshot") != "5.0" {
		t.Errorf("for snapshots: %+v", s.Status)
	}
	uploading := control.Stats{Taken: start, File: "a.bag", TimeLeft: -1, Handover: &control.HandoverStats{Waiting: 3, Failures: 2, Err: "no network"}}
	if s := show(t, new(recordReport).status(uploading, nil)); s.Status[0].Level != 0 || s.value(0, "uploads waiting") != "3" || s.value(0, "why the last upload failed") != "no network" {
		t.Errorf("with uploads: %+v", s.Status)
	}
	uploading.Handover.State, uploading.Handover.StateErr = control.HandoverFailing, "the secret is wrong"
	if s := show(t, new(recordReport).status(uploading, nil)); s.Status[0].Level != 1 || !strings.HasSuffix(s.Status[0].Message, "; the store refuses uploads: the secret is wrong") || s.value(0, "store") != "failing" {
		t.Errorf("with a store that refuses: %+v", s.Status)
	}
	uploading.Handover.State = control.HandoverUnreachable
	if s := show(t, new(recordReport).status(uploading, nil)); s.Status[0].Level != 0 || s.value(0, "store") != "unreachable" {
		t.Errorf("with a store that is away: %+v", s.Status)
	}
	uploading.Handover.Refused = 1
	if s := show(t, new(recordReport).status(uploading, nil)); s.Status[0].Level != 1 || s.Status[0].Message != "recording: a.bag; 1 bag cannot be uploaded" {
		t.Errorf("with a refused upload: %+v", s.Status)
	}
	// A change soon after does not make a rate of next to nothing.
	now.Taken = now.Taken.Add(10 * time.Millisecond)
	if s := show(t, r.status(now, nil)); s.value(1, "hz") != "100.0" || s.Header.Seq != 2 {
		t.Errorf("after a change: %s Hz, number %d", s.value(1, "hz"), s.Header.Seq)
	}
	if s := show(t, r.status(control.Stats{}, control.ErrNotRecording)); len(s.Status) != 1 || s.Status[0].Level != 3 || s.Status[0].Message != "not recording" {
		t.Errorf("without a recording: %+v", s.Status)
	}
}
