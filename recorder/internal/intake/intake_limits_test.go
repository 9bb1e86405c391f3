package intake

import (
	"testing"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// TestHowManyMessagesFit: a chunk takes messages up to the one that goes beyond its size,
// and one at least; a topic with a limit no more than are left of it.
func TestHowManyMessagesFit(t *testing.T) {
	t.Parallel()
	const record = 4 + 58 + RecordOverhead // of a message
	var run []byte
	for n := range uint32(10) {
		run = append(run, testlink.Frame(1, n, 58)...)
	}
	for name, c := range map[string]struct {
		fill            int
		limit, messages uint64
		want            int
	}{
		"all":                    {fill: 10 * record, want: 10},
		"all, to the end":        {fill: 10*record - 1, want: 10},
		"all but one":            {fill: 9*record - 1, want: 9},
		"one beyond the size":    {fill: 5 * record, want: 6},
		"and not before it":      {fill: 5*record - 1, want: 5},
		"one":                    {fill: 10, want: 1},
		"one, without any room":  {fill: -1, want: 1},
		"as many as are left":    {fill: 10 * record, limit: 20, messages: 13, want: 7},
		"more are left than fit": {fill: 3*record - 1, limit: 20, messages: 13, want: 3},
	} {
		p := bareIntake(-1, 100)
		p.filling.Begin(new(memory.Chunk), c.fill)
		limit(p, account.Limit{Topics: "**", Count: int(c.limit)})
		topic := p.Accounts.all.NewTopic("/t")
		topic.Recorded(c.messages, 0)
		wanted := int(topic.Wanted(10))
		if n, size := p.filling.Fit(run, wanted, wanted == 10); n != c.want || size != c.want*(4+58) {
			t.Errorf("%s: %d messages of %d bytes, want %d", name, n, size, c.want)
		}
	}
}

// TestWhyAMessageIsLeft: one that nobody asked for counts as nothing, one after the end of
// the file as lost to the disk, and any other as not recorded.
func TestWhyAMessageIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode         Mode
		recorded     uint64 // of 3 messages of a topic with a limit
		passed, disk uint64
	}{
		"paused":           {Mode{State: control.StatePaused}, 0, 1, 0},
		"ended":            {Mode{Ended: true}, 0, 0, 1},
		"full":             {Mode{Full: true, Ended: true}, 0, 0, 0},
		"enough of it":     {Mode{Ended: true}, 3, 0, 0},
		"not enough of it": {Mode{Ended: true}, 2, 0, 1},
	} {
		p := bareIntake(-1, 100)
		limit(p, account.Limit{Topics: "**", Count: 3})
		p.mode = c.mode
		of := bareLink(p, 100).connection
		of.Topic().Recorded(c.recorded, 0)
		p.countUnwantedLocked(of)
		if s := topicStats(p); s.Passed != c.passed || dropped(p, control.DropDisk) != c.disk {
			t.Errorf("%s: %d passed, %d lost to the disk; want %d and %d", name, s.Passed, dropped(p, control.DropDisk), c.passed, c.disk)
		}
	}
}
