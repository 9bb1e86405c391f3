package recorder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/snapshot"
)

// Control is the control.Recording of one Run, for other goroutines: a terminal, ROS services, a
// web page. The zero value is ready; give it to Options.Control.
type Control struct {
	mu        sync.Mutex
	recording *session      // nil before and after Run
	changed   chan struct{} // closed at the next change; nil if nobody waits for it
}

// After a burst, at most one file in splitEvery begins because somebody asks for it: with a limit such as
// --max-splits, each file deletes an older one, and a client that asks without end would delete the
// history.
const (
	splitBurst = 10
	splitEvery = 10 * time.Second
)

var _ control.Recording = (*Control)(nil)

// attach sets the recording that the control acts on; nil for none.
func (c *Control) attach(r *session) {
	if c == nil {
		return
	}
	c.mu.Lock()
	if c.recording = r; r != nil {
		r.splits = rate.NewLimiter(rate.Every(splitEvery), splitBurst)
	}
	c.mu.Unlock()
	c.notify()
}

// current returns the recording, or ErrNotRecording.
func (c *Control) current() (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recording == nil {
		return nil, control.ErrNotRecording
	}
	return c.recording, nil
}

// notify closes the channel of Changed: the state or the file has changed.
func (c *Control) notify() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Changed implements control.Recording.
func (c *Control) Changed() <-chan struct{} {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// Stats implements control.Recording.
func (c *Control) Stats() (control.Stats, error) {
	r, err := c.current()
	if err != nil {
		return control.Stats{}, err
	}
	return r.stats(), nil
}

// Pause implements control.Recording.
func (c *Control) Pause() error {
	r, err := c.current()
	if err != nil {
		return err
	}
	return r.in.Pause()
}

// Resume implements control.Recording.
func (c *Control) Resume() error {
	r, err := c.current()
	if err != nil {
		return err
	}
	return r.in.Resume(time.Now())
}

// Stop implements control.Recording.
func (c *Control) Stop(ctx context.Context) (closed string, err error) {
	r, err := c.current()
	if err != nil {
		return "", err
	}
	stop, err := r.in.RequestStop()
	if err != nil {
		return "", err
	}
	return stop.ClosedFile(ctx)
}

// Start implements control.Recording.
func (c *Control) Start(ctx context.Context) (opened string, err error) {
	r, err := c.current()
	if err != nil {
		return "", err
	}
	start, err := r.in.RequestStart()
	if err != nil {
		return "", err
	}
	if err := start.Wait(ctx); err != nil {
		return "", err
	}
	if start != nil {
		return start.File.Target(), nil
	}
	return r.stats().File, nil
}

// Split implements control.Recording.
func (c *Control) Split(ctx context.Context) (closed string, err error) {
	r, err := c.current()
	if err != nil {
		return "", err
	}
	now := time.Now()
	turn := r.splits.ReserveN(now, 1)
	if wait := turn.DelayFrom(now); wait > 0 {
		turn.CancelAt(now)
		return "", fmt.Errorf("%w: the next split is possible in %v", control.ErrSplitsTooOften,
			wait.Round(time.Second))
	}
	split, err := r.in.RequestSplit(now)
	if err != nil {
		turn.CancelAt(now) // not Cancel: the turn has come already
		return "", err
	}
	return split.ClosedFile(ctx)
}

// Mark implements control.Recording.
func (c *Control) Mark(text string) (control.Mark, error) { return c.MarkAt(text, time.Now()) }

// MarkAt implements control.Recording.
func (c *Control) MarkAt(text string, at time.Time) (control.Mark, error) {
	r, err := c.current()
	if err != nil {
		return control.Mark{}, err
	}
	return r.own.Mark(text, at)
}

// Pin implements control.Recording.
func (c *Control) Pin(ctx context.Context, last time.Duration) (files []string, err error) {
	r, err := c.current()
	if err != nil {
		return nil, err
	}
	return r.sink.Pin(ctx, time.Now().Add(-last))
}

// Bags implements control.Recording.
func (c *Control) Bags() ([]control.Bag, error) {
	r, err := c.current()
	if err != nil {
		return nil, err
	}
	return r.sink.Bags.Finished.Bags(), nil
}

// OpenBag implements control.Recording.
func (c *Control) OpenBag(id int) (*os.File, control.Bag, error) {
	r, err := c.current()
	if err != nil {
		return nil, control.Bag{}, err
	}
	return r.sink.Bags.Finished.Open(id)
}

// Snapshot implements control.Recording.
func (c *Control) Snapshot(ctx context.Context) (file string, err error) {
	sn, err := c.beginSnapshot(ctx, time.Now())
	if err != nil {
		return "", err
	}
	if file, err = sn.Out.Closed(ctx); file == "" {
		return "", err
	}
	return file, errors.Join(sn.Err, err)
}

// BeginSnapshot implements control.Recording.
func (c *Control) BeginSnapshot(ctx context.Context, at time.Time) error {
	_, err := c.beginSnapshot(ctx, at)
	return err
}

// beginSnapshot begins a snapshot, or extends the one in its post-roll.
func (c *Control) beginSnapshot(ctx context.Context, at time.Time) (*snapshot.Snapshot, error) {
	r, err := c.current()
	if err != nil {
		return nil, err
	}
	return r.sink.Snapshotter.Trigger(ctx, at)
}
