package trigger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// action is the act that a trigger asks for after it has fired with a message on topic.
type action struct {
	*rule
	topic    string
	received time.Time
}

const (
	mostWaiting = 64          // actions that wait for earlier actions
	mostPending = 16          // snapshots that have not begun, plus pins that are not done
	orderWait   = time.Second // most time that the next action waits for a pending snapshot or pin
)

var errBusy = errors.New("too many actions wait for the disk")

// actor carries out actions, in their order.
type actor struct {
	control Control
	end     func()        // see Options.End
	span    time.Duration // see Options.Span
	log     *zap.Logger
	actions chan action
	pending chan struct{} // has room while fewer than mostPending are pending
}

func newActor(o *Options) *actor {
	return &actor{
		o.Control, o.End, o.Span, o.Log, make(chan action, mostWaiting),
		make(chan struct{}, mostPending),
	}
}

// fire queues an action.
func (a *actor) fire(act action) {
	select {
	case a.actions <- act:
	default:
		a.refuse(act, errBusy)
	}
}

// run carries out actions until ctx is done.
func (a *actor) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		select {
		case act := <-a.actions:
			if ctx.Err() != nil { // at the end of the recording, a Start would begin another bag
				act.refused.Add(1)
				return
			}
			a.log.Info("Triggered", zap.String("option", "--"+act.kind.String()),
				zap.String("topic", act.topic), zap.String("expression", act.text))
			if err := a.do(ctx, &wg, act); err != nil && ctx.Err() == nil {
				a.refuse(act, err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// refuse counts an action that was not carried out.
func (a *actor) refuse(act action, err error) {
	act.refused.Add(1)
	a.log.Warn("the recording did not do what a trigger asked for",
		zap.String("option", "--"+act.kind.String()), zap.String("topic", act.topic), zap.Error(err))
}

// abandon counts the actions that run has not carried out.
func (a *actor) abandon() {
	for {
		select {
		case act := <-a.actions:
			act.refused.Add(1)
		default:
			return
		}
	}
}

// do carries out an action, and records its cause as a mark.
func (a *actor) do(ctx context.Context, wg *sync.WaitGroup, act action) error {
	switch act.kind {
	case Snapshot:
		a.mark(act)
		return a.inBackground(ctx, wg, act,
			func() error { return a.control.BeginSnapshot(ctx, act.received) })
	case Mark:
		_, err := a.control.MarkAt(act.cause(), act.received)
		return err
	case Pin:
		a.mark(act)
		return a.inBackground(ctx, wg, act, func() error {
			files, err := a.control.Pin(ctx, a.span)
			if err == nil {
				a.log.Info("Pinned", zap.Strings("files", files))
			}
			return err
		})
	case Start:
		return a.start(ctx, act)
	case Stop:
		return a.stop(ctx, act)
	case kinds:
	}
	return nil
}

// mark records the cause of an action. While nothing is recorded, mark writes nothing.
func (a *actor) mark(act action) {
	if _, err := a.control.MarkAt(act.cause(), act.received); err != nil {
		a.log.Debug("no mark of a trigger", zap.Error(err))
	}
}

// inBackground runs do, which the disk may delay, and waits for do for at most orderWait: a longer
// wait would delay later actions more than their order is worth.
func (a *actor) inBackground(ctx context.Context, wg *sync.WaitGroup, act action, do func() error) error {
	select {
	case a.pending <- struct{}{}:
	default:
		return errBusy
	}
	done := make(chan struct{})
	// owner: run; ends when do returns, which ctx bounds.
	wg.Go(func() {
		defer func() {
			<-a.pending
			close(done)
		}()
		if err := do(); err != nil && ctx.Err() == nil {
			a.refuse(act, err)
		}
	})
	select {
	case <-done:
	case <-time.After(orderWait):
	case <-ctx.Done():
	}
	return nil
}

// start begins a bag, or ends a pause.
func (a *actor) start(ctx context.Context, act action) error {
	s, err := a.control.Stats()
	if err != nil {
		return err
	}
	switch s.State {
	case control.StatePaused:
		err = a.control.Resume()
	case control.StateStopped:
		_, err = a.control.Start(ctx)
	case control.StateRecording:
		return nil // nothing begins, so no mark is needed
	}
	if err == nil {
		a.mark(act)
	}
	return err
}

// stop ends the bag or the recording.
func (a *actor) stop(ctx context.Context, act action) error {
	s, err := a.control.Stats()
	if err != nil {
		return err
	}
	if s.State != control.StateStopped {
		a.mark(act)
	}
	if a.end != nil {
		a.end()
		return nil
	}
	// The next start must not wait until the bag is closed: once stopped, the bag receives no more
	// messages. The recording reports an error of the file.
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err = a.control.Stop(ended); errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// cause is the text of the mark: one line, of limited length.
func (act *action) cause() string {
	const ellipsis = "…"
	text := strings.ToValidUTF8(strings.Join(strings.Fields(act.text), " "), "\uFFFD")
	begin, end := act.kind.String()+": ", fmt.Sprintf(" (%s)", act.topic)
	if room := max(note.MaxMarkBytes-len(begin)-len(end), 0); len(text) > room {
		text = strings.ToValidUTF8(text[:max(room-len(ellipsis), 0)], "") + ellipsis
	}
	return begin + text + end
}
