package account

import (
	"testing"
	"time"
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
