package simtime_test

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestClockJumpsAgainAndAgain: a clock that is never right is not worth a line each.
func TestClockJumpsAgainAndAgain(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	var c simtime.Wall
	now := time.Now()
	for i := range 600 { // two and a half minutes
		c.Look(testlink.SetClock(t, now.Add(time.Duration(i)*250*time.Millisecond), time.Duration(i%2)*time.Second), zap.New(core))
	}
	var times []int64
	for _, line := range logs.All() {
		times = append(times, line.ContextMap()["times"].(int64))
	}
	if !slices.Equal(times, []int64{1, 240, 240}) {
		t.Errorf("said for so many steps each: %v", times)
	}
}

// TestClockJumps: a step of half a second or more is said, with its size; a clock that is slewed is not.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	for by, want := range map[time.Duration]int{-time.Hour: 1, -time.Second: 1, 0: 0, time.Second: 1, time.Hour: 1} {
		core, logs := observer.New(zap.WarnLevel)
		var c simtime.Wall
		now := time.Now()
		c.Look(now, zap.New(core))
		c.Look(testlink.SetClock(t, now.Add(250*time.Millisecond), by), zap.New(core))
		if all := logs.All(); len(all) != want || want > 0 && all[0].ContextMap()["by"] != by {
			t.Errorf("set by %v: logged %v", by, all)
		}
	}
}
