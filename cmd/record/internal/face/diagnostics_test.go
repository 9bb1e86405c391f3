package face

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// value returns a value of a part.
func value(parts []stdmsg.DiagnosticStatus, part int, key string) string {
	for _, v := range parts[part].Values {
		if v.Key == key {
			return v.Value
		}
	}
	return "no " + key
}

func TestRecordStatus(t *testing.T) {
	t.Parallel()
	r := new(rates)
	start := time.Now()
	before := control.Stats{
		Taken: start, File: "a.bag", DiskFree: -1, TimeLeft: -1, BufferMost: -1,
		Topics: []control.TopicStats{{Topic: "/imu", Publishers: 1, Messages: 100}},
	}
	first := diagnostics("/rec", &before, r)
	if got := value(first, 0, "disk free bytes") + ", " + value(first, 0, "buffer limit"); got != "unknown, none" {
		t.Errorf("free, limit: %s", got)
	}
	now := control.Stats{
		Taken: start.Add(2 * time.Second), State: control.StatePaused, File: "b.bag", Part: 1, DiskFree: 5000, TimeLeft: 90 * time.Second,
		Topics: []control.TopicStats{
			{Topic: "/imu", Publishers: 1, Messages: 200, Dropped: 50, Missed: 3, LeftOut: 20, Passed: 30, Bytes: 2048, Last: start.Add(time.Second)},
			{Topic: "/odom", Type: "nav_msgs/Odometry", Messages: 7},
			{Topic: "/crashed"},
		},
		Findings: []finding.Finding{{Topic: "/odom", Kind: finding.Silent, Cause: finding.Gone, For: 41 * time.Second}},
	}
	s := diagnostics("/rec", &now, r)
	var got []string
	for _, status := range s {
		got = append(got, string('0'+rune(status.Level))+" "+status.Name+" = "+status.Message)
	}
	want := []string{
		"1 /rec: recording = paused: b.bag; 50 dropped; 3 never arrived; 1 topic is silent: /odom for 41 s (publisher gone); the disk will be full in 1m30s",
		"1 /rec: /imu = 100.0 Hz, 2.0 KiB; 50 dropped; 3 never arrived",
		"1 /rec: /odom = no publisher; silent for 41 s (publisher gone)",
		"3 /rec: /crashed = no publisher",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{"state": "paused", "file": "b.bag", "part": "1", "disk free bytes": "5000", "dropped": "50", "missed": "3"} {
		if got := value(s, 0, key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	for key, want := range map[string]string{"messages": "200", "hz": "100.0", "left out, as asked": "20", "while paused or stopped": "30", "seconds since the last": "1.0"} {
		if got := value(s, 1, key); got != want {
			t.Errorf("/imu: %s: %s, want %s", key, got, want)
		}
	}
	if n := len(s[3].Values); n != 0 || value(s, 2, "messages") != "7" {
		t.Errorf("a topic that never had a publisher has %d values, one that had: %s messages", n, value(s, 2, "messages"))
	}
	ready := control.Stats{Taken: start, Snapshots: control.SnapshotStats{Mode: control.SnapshotOnly, Taken: 2, Held: 5 * time.Second}, TimeLeft: -1}
	if s := diagnostics("/rec", &ready, new(rates)); s[0].Message != "recording for snapshots" || value(s, 0, "seconds before a snapshot") != "5.0" {
		t.Errorf("for snapshots: %+v", s)
	}
	uploading := control.Stats{Taken: start, File: "a.bag", TimeLeft: -1, Handover: &control.HandoverStats{Waiting: 3, Failures: 2, Err: "no network"}}
	if s := diagnostics("/rec", &uploading, new(rates)); s[0].Level != 0 || value(s, 0, "uploads waiting") != "3" || value(s, 0, "why the last upload failed") != "no network" {
		t.Errorf("with uploads: %+v", s)
	}
	uploading.Handover.State, uploading.Handover.StateErr = control.HandoverFailing, "the secret is wrong"
	if s := diagnostics("/rec", &uploading, new(rates)); s[0].Level != 1 || !strings.HasSuffix(s[0].Message, "; the store refuses uploads: the secret is wrong") || value(s, 0, "store") != "failing" {
		t.Errorf("with a store that refuses: %+v", s)
	}
	uploading.Handover.State = control.HandoverUnreachable
	if s := diagnostics("/rec", &uploading, new(rates)); s[0].Level != 0 || value(s, 0, "store") != "unreachable" {
		t.Errorf("with a store that is away: %+v", s)
	}
	uploading.Handover.Refused = 1
	if s := diagnostics("/rec", &uploading, new(rates)); s[0].Level != 1 || s[0].Message != "recording: a.bag; 1 bag cannot be uploaded" {
		t.Errorf("with a refused upload: %+v", s)
	}
	// A change soon after does not make a rate of next to nothing.
	now.Taken = now.Taken.Add(10 * time.Millisecond)
	if s := diagnostics("/rec", &now, r); value(s, 1, "hz") != "100.0" {
		t.Errorf("after a change: %s Hz", value(s, 1, "hz"))
	}
	if _, s := New(new(recorder.Control), 0).Status("/rec"); len(s) != 1 || s[0].Level != 3 || s[0].Message != "not recording" {
		t.Errorf("without a recording: %+v", s)
	}
}
