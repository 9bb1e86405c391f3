package follow

import (
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/rosbag"
)

// clockFrame is a message of the clock, with so many bytes more than it should have.
func clockFrame(sec uint32, more int) []byte {
	frame := make([]byte, stdmsg.FramePrefix+stdmsg.ClockBytes+more)
	binary.LittleEndian.PutUint32(frame, uint32(stdmsg.ClockBytes+more))
	stdmsg.SetStamp(frame, stdmsg.FramePrefix, rosbag.Time{Sec: sec})
	return frame
}

// TestClock: play goes by the times of the clock. A jump takes no time and is logged, and what is no clock
// is ignored.
func TestClock(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	c := NewClock(zap.New(core))
	now := func(what string, want time.Duration) {
		t.Helper()
		if got := c.Now(); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	c.Frames(clockFrame(100, 0), 1, time.Time{})
	now("the first message", 0)
	c.Frames(append(clockFrame(102, 0), clockFrame(103, 0)...), 2, time.Time{})
	now("two messages", 3*time.Second)
	c.Frames(append(clockFrame(109, 1), clockFrame(104, 0)...), 2, time.Time{})
	now("a message that is too long before another", 4*time.Second)
	c.Frames(clockFrame(50, 0), 1, time.Time{})
	now("a jump back", 4*time.Second)
	if n := logs.FilterMessageSnippet("has jumped").Len(); n != 1 || logs.Len() != 1 {
		t.Errorf("log %v", logs.All())
	}
	if c.Large(1<<20) != nil {
		t.Error("a large message is wanted")
	}
}

// TestAwaitClock: waiting ends with the first message, and says every 3 s what it waits for.
func TestAwaitClock(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		comes, took time.Duration
		said        int
	}{
		"there already": {0, 0, 0},
		"later":         {7 * time.Second, 7 * time.Second, 2},
		"never":         {time.Hour, 10 * time.Second, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				core, logs := observer.New(zap.InfoLevel)
				c, start := NewClock(zap.New(core)), time.Now()
				if !c.StandsStill() {
					t.Error("a clock that has not begun goes")
				}
				come := time.AfterFunc(tc.comes, func() { c.Frames(clockFrame(1, 0), 1, time.Time{}) })
				defer come.Stop()
				if tc.comes == 0 {
					synctest.Wait()
				}
				c.Await(ctx)
				if took := time.Since(start); took != tc.took || logs.FilterMessage("still waiting for the clock").Len() != tc.said {
					t.Errorf("waited for %v, said so %d times; want %v, %d", took, logs.Len(), tc.took, tc.said)
				}
			})
		})
	}
}

// TestStandsStill: a clock stands still when it has not advanced for a second. No clock never does.
func TestStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := NewClock(zap.NewNop())
		c.Frames(clockFrame(1, 0), 1, time.Time{})
		time.Sleep(time.Second - 1) // in the bubble
		if c.StandsStill() {
			t.Error("stands still before a second has passed")
		}
		time.Sleep(time.Nanosecond)
		if !c.StandsStill() {
			t.Error("goes, although it was not told for a second")
		}
		c.Frames(clockFrame(2, 0), 1, time.Time{})
		if c.StandsStill() {
			t.Error("stands still, although it has advanced")
		}
	})
	if (*Clock)(nil).StandsStill() {
		t.Error("no clock stands still")
	}
}
