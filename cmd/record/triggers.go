package main

import (
	"context"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/trigger"
	"github.com/gorosbag/gorosbag/recorder"
)

// startTriggers makes o watch for what the command line names, until end is called. memory is what
// that takes beside the buffer. finish ends the recording.
func startTriggers(ctx context.Context, c *config.Record, o *recorder.Options, finish func()) (end func(), memory int64, err error) {
	t := &c.Triggers
	on := map[trigger.Kind][]string{
		trigger.Snapshot: t.SnapshotOn, trigger.Mark: t.MarkOn, trigger.Pin: t.PinOn, trigger.Start: t.StartOn, trigger.Stop: t.StopOn,
	}
	none := true
	for _, expressions := range on {
		none = none && len(expressions) == 0
	}
	if none {
		return func() {}, 0, nil
	}
	if c.Stopped || len(t.StartOn) > 0 {
		finish = nil // something may begin the next bag
	}
	set, err := trigger.New(trigger.Options{
		On: on, Pause: time.Duration(t.TriggerPause), Span: time.Duration(c.Pin),
		Control: o.Control, End: finish, Resolve: o.Node.Resolve, Log: o.Log,
	})
	if err != nil {
		return nil, 0, err
	}
	o.Watch = set
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	// owner: end; ends when ctx is done.
	wg.Go(func() { set.Run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}, trigger.Memory, nil
}
