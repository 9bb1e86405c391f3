package account

import (
	"testing"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestDropWithinTheLimit: what is lost counts under its cause, but for messages that the limit of
// the topic would have left out.
func TestDropWithinTheLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ limit, recorded, messages, want uint64 }{
		"no limit":               {limit: 0, recorded: 100, messages: 7, want: 7},
		"far from the limit":     {limit: 100, recorded: 3, messages: 7, want: 7},
		"up to the limit":        {limit: 10, recorded: 3, messages: 7, want: 7},
		"one beyond the limit":   {limit: 10, recorded: 4, messages: 7, want: 6},
		"none recorded":          {limit: 5, recorded: 0, messages: 7, want: 5},
		"at the limit":           {limit: 10, recorded: 10, messages: 7, want: 0},
		"limit of one, not used": {limit: 1, recorded: 0, messages: 1, want: 1},
		"more than the limit":    {limit: 10, recorded: 12, messages: 7, want: 0},
	} {
		of := &Topic{recorded: Tally{Messages: c.recorded}, sampler: Sampler{limit: c.limit}}
		of.dropped[control.DropDisk] = 1
		of.Drop(control.DropDisk, c.messages)
		want := [control.DropCauses]uint64{control.DropDisk: 1 + c.want}
		if of.dropped != want {
			t.Errorf("%s: dropped %v, want %v", name, of.dropped, want)
		}
		if of.recorded.Messages != c.recorded {
			t.Errorf("%s: %d messages recorded, want %d", name, of.recorded.Messages, c.recorded)
		}
	}
}
