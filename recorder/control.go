package recorder

import (
	"errors"
	"sync"
)

// ErrNotRecording means that a Control has no recording: Run has not begun, or has ended.
var ErrNotRecording = errors.New("recorder: there is no recording")

// Control steers and watches the recording of one Run from other goroutines: a
// terminal, ROS services, a web page. The zero value is ready; give it to
// Options.Control. All methods may be called at any time by anybody.
type Control struct {
	mu        sync.Mutex
	recording *recording // nil before and after Run
}

// attach begins, and with nil ends, what the control can reach.
func (c *Control) attach(r *recording) {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.recording = r
	c.mu.Unlock()
}

// Stats returns a live account, or ErrNotRecording.
func (c *Control) Stats() (Stats, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recording == nil {
		return Stats{}, ErrNotRecording
	}
	return c.recording.stats(), nil
}
