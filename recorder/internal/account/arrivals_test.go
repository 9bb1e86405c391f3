package account

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestArrivalsOfTheClock: nobody waits for messages of the clock that the recording goes by, whatever the name that it has in
// the bag.
func TestArrivalsOfTheClock(t *testing.T) {
	t.Parallel()
	a := New(nil, false)
	a.AddTopic("clock", "/sim/clock", time.Time{})
	a.AddTopic("/sim/clock", "/other", time.Time{})
	for _, got := range a.Arrivals(nil, false, "/sim/clock") {
		if got.Held != (got.Topic == "clock") {
			t.Errorf("%s: held: %v", got.Topic, got.Held)
		}
	}
	for _, got := range a.Arrivals(nil, false, "") {
		if got.Held {
			t.Errorf("%s is held without a clock", got.Topic)
		}
	}
}

// TestArrivalsStamp: the stamp of a topic is that of the first message of the last run.
func TestArrivalsStamp(t *testing.T) {
	t.Parallel()
	a := New(nil, false)
	c := a.Connect(a.AddTopic("/t", "/t", time.Time{}), rosbag.Header(testlink.Info("/t", "/p").Header))
	c.stamped = true
	stamp := time.Unix(1<<31+5, 999_999_999)
	frame := testlink.Frame(1, 0, 16)
	binary.LittleEndian.PutUint32(frame[8:], uint32(stamp.Unix()))
	binary.LittleEndian.PutUint32(frame[12:], uint32(stamp.Nanosecond()))
	now := time.Now()
	c.Came(now, 1, frame)
	got := a.Arrivals(nil, false, "")[0]
	if got.Stamp != stamp.UnixNano() || !got.Stamped.Equal(now) || got.Messages != 1 {
		t.Errorf("%+v, want the stamp %d", got, stamp.UnixNano())
	}
}
