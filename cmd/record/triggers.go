package main

import (
	"context"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/cmd/record/internal/trigger"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/recorder"
)

// evaluationWait is how long the end of the program waits for an evaluation that is under way: the bag
// is closed, and nothing can interrupt an expression with loops within loops.
const evaluationWait = time.Second

// newTriggers returns the triggers of the options; nil if there are none. finish ends the recording.
func newTriggers(
	s *settings, o *recorder.Options, finish func(), resolve program.Resolver,
) (*trigger.Set, error) {
	t := &s.triggers
	on := map[trigger.Kind][]string{
		trigger.Snapshot: t.snapshot, trigger.Mark: t.mark, trigger.Pin: t.pin, trigger.Start: t.start,
		trigger.Stop: t.stop,
	}
	none := true
	for _, expressions := range on {
		none = none && len(expressions) == 0
	}
	if none {
		return nil, nil // nil watches nothing
	}
	if s.control.stopped || len(t.start) > 0 {
		finish = nil // something may begin the next bag
	}
	return trigger.New(trigger.Options{
		On: on, Pause: t.pause, Span: s.disk.pin,
		Control: o.Control, End: finish, Resolve: resolve, Log: o.Log,
	})
}

// startTriggers makes o evaluate the triggers of the options until end is called, which waits for at most
// evaluationWait. memory is the number of bytes that triggers take beside the buffer. finish ends the
// recording.
func startTriggers(
	ctx context.Context, s *settings, o *recorder.Options, finish func(),
) (end func(), memory int64, err error) {
	set, err := newTriggers(s, o, finish, o.Node.Resolve)
	if err != nil {
		return nil, 0, err
	}
	if set == nil {
		return func() {}, 0, nil
	}
	o.Watch = set
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	// owner: end; ends when ctx is done, or with the process if an evaluation takes too long.
	go func() {
		defer close(done)
		set.Run(ctx)
	}()
	return sync.OnceFunc(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(evaluationWait):
			o.Log.Warn("the expression of a trigger is still being evaluated: its result is not waited for")
		}
	}), trigger.Memory, nil
}
