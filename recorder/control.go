package recorder

import (
	"context"
	"sync"
	"time"
)

// Control steers and watches the recording of one Run from other goroutines: a
// terminal, ROS services, a web page. The zero value is ready; give it to
// Options.Control. All methods may be called at any time by anybody.
//
// A command for a state that is reached already is no error. What has to wait for the file waits
// behind the messages that are queued for it, and while ctx lasts; a wait that was
// given up does not take the command back.
type Control struct {
	mu        sync.Mutex
	recording *session      // nil before and after Run
	changed   chan struct{} // closed at the next change; nil if nobody waits for it
}

// attach begins, and with nil ends, what the control can reach.
func (c *Control) attach(r *session) {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.recording = r
	c.mu.Unlock()
	c.notify()
}

func (c *Control) reach() (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recording == nil {
		return nil, ErrNotRecording
	}
	return c.recording, nil
}

// notify tells those who wait that the state or the file has changed.
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

// Changed returns a channel that is closed when the state or the file is another one
// than now. Ask for it before Stats, so that no change is missed.
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

// Stats returns a live account, or ErrNotRecording.
func (c *Control) Stats() (Stats, error) {
	r, err := c.reach()
	if err != nil {
		return Stats{}, err
	}
	return r.stats(), nil
}

// Pause makes what arrives from now on pass, unrecorded but counted. The bag stays
// open. The error may be ErrNotRecording or ErrStopped.
func (c *Control) Pause() error {
	r, err := c.reach()
	if err != nil {
		return err
	}
	return r.in.Commands().Pause()
}

// Resume ends a pause. The latest latched messages that came meanwhile are recorded
// first. The error may be ErrNotRecording or ErrStopped.
func (c *Control) Resume() error {
	r, err := c.reach()
	if err != nil {
		return err
	}
	return r.in.Commands().Resume(time.Now())
}

// Stop ends the bag: all that arrived before the call is in it, nothing that arrives
// afterwards is recorded before Start. It returns the name of the bag when it is
// closed, indexed and durable as Options.Sync says, or no name if there was none.
func (c *Control) Stop(ctx context.Context) (closed string, err error) {
	r, err := c.reach()
	if err != nil {
		return "", err
	}
	e, err := r.in.Commands().RequestStop()
	if err != nil {
		return "", err
	}
	return e.ClosedFile(ctx)
}

// Start begins the next bag after a Stop and returns its name. All that arrives after
// it has returned is recorded. While there is a bag, paused or not, it returns the name
// of that.
func (c *Control) Start(ctx context.Context) (opened string, err error) {
	r, err := c.reach()
	if err != nil {
		return "", err
	}
	e, err := r.in.Commands().RequestStart()
	if err != nil {
		return "", err
	}
	if err := e.Wait(ctx); err != nil {
		return "", err
	}
	if e != nil {
		return e.File.Target(), nil
	}
	return r.stats().File, nil
}

// Split makes all that arrives from now on go into the next file, whether
// Options.Split says so or not, and returns the name of the file before when it is
// closed, indexed and durable as Options.Sync says. A next file that cannot be had is
// an error, and the recording goes on in the old one. A pause goes on, too.
func (c *Control) Split(ctx context.Context) (closed string, err error) {
	r, err := c.reach()
	if err != nil {
		return "", err
	}
	e, err := r.in.Commands().RequestSplit(time.Now())
	if err != nil {
		return "", err
	}
	return e.ClosedFile(ctx)
}

// Pin protects the files that may hold something of the last so much time from
// Options.Retain, for ever, and returns their names, the oldest first. Such files do
// not count for its limits either. The file that is written is one of them.
func (c *Control) Pin(ctx context.Context, last time.Duration) (files []string, err error) {
	r, err := c.reach()
	if err != nil {
		return nil, err
	}
	return r.sink.Pin(ctx, time.Now().Add(-last))
}
