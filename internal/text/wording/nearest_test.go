package wording_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

func TestNearestName(t *testing.T) {
	t.Parallel()
	names := []string{"split", "size", "split-at", ""}
	for name, want := range map[string]string{"splt": "split", "siez": "size", "split_at": "split-at", "compression": ""} {
		if got := wording.NearestName(name, names); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestNearestTopics(t *testing.T) {
	t.Parallel()
	topics := []string{"/rosout", "rosout", "/rosout", "/imu/data", "/tf", "/tf_static", "/camera/image/compressed", "/robot/imu", "/odom", "/a/scan", "/b/scan", "/c/scan", "/d/scan"}
	for name, want := range map[string][]string{
		"/imuu": {"/imu/data", "/robot/imu"}, "/IMU/Data": {"/imu/data"}, "odomm": {"/odom"}, "/image/compressd": {"/camera/image/compressed"},
		"/scan": {"/a/scan", "/b/scan", "/c/scan"}, "/velodyne_points": nil, "osout": {"/rosout"}, "": nil,
	} {
		if d := cmp.Diff(want, wording.NearestTopics(name, topics)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
