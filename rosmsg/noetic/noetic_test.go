package noetic_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// TestTable compares the table with the md5sums that ROS's own genmsg computes of the .msg files of noetic.
func TestTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/md5sums.txt")
	if err != nil {
		t.Fatal(err)
	}
	packages := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		definition, got, ok := noetic.Definition(name)
		if !ok || got != want {
			t.Errorf("%s has md5sum %q, want %s", name, got, want)
			continue
		}
		pkg, _, _ := strings.Cut(name, "/")
		packages[pkg]++
		if typ, err := rosmsg.Parse(name, definition); err != nil || typ.MD5Sum() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, pkg := range strings.Fields("std_msgs sensor_msgs turtlesim map_msgs bond control_msgs vision_msgs ackermann_msgs geographic_msgs nmea_msgs pcl_msgs octomap_msgs") {
		if packages[pkg] == 0 {
			t.Errorf("no type of %s", pkg)
		}
	}
}

func TestParseUnknown(t *testing.T) {
	t.Parallel()
	if _, err := noetic.Parse("my_msgs/Wheel"); !errors.Is(err, noetic.ErrUnknown) {
		t.Error(err)
	}
}
