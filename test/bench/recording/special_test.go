//go:build linux

package recording

import (
	"testing"
)

func TestLostInSummary(t *testing.T) {
	t.Parallel()
	const out = "a line of the log\n" +
		"messages    bytes  publishers  lost  topic\n" +
		"     136  136 MiB           1  4306  /camera : std_msgs/String\n" +
		"     500  156 KiB           1     0  /imu : std_msgs/String\n"
	for topic, want := range map[string]int{"/camera": 4306, "/imu": 0} {
		if got, err := lostInSummary(out, topic); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", topic, got, err, want)
		}
	}
	if _, err := lostInSummary(out, "/other"); err == nil {
		t.Error("a topic that is not there has a number")
	}
}
