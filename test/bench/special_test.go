//go:build linux

package main

import (
	"testing"
	"time"
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

func TestRatioIsOfPairs(t *testing.T) {
	t.Parallel()
	at := func(mb ...int64) (all []result) {
		for _, n := range mb {
			all = append(all, result{bytes: n, took: time.Second})
		}
		return all
	}
	// The machine was busy in the second round: both were slow, and the ratio holds.
	if got := ratio(at(400, 40, 500), at(100, 10, 100), result.rate); got != 4 {
		t.Errorf("ratio %v, want 4", got)
	}
}
