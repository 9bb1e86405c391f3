// Package face shows play, and takes orders for it, on the web and on the ROS graph. It knows
// the contract of the player only.
package face

import (
	"embed"
	"io/fs"
	"sync/atomic"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/lastminute"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/player/control"
)

//go:embed assets
var assets embed.FS

// Face shows play, and takes orders for it. It implements web.Backend.
type Face struct {
	control  atomic.Pointer[attached]
	begun    chan struct{} // closed by Attach
	recorded []note.Mark

	// Owned by Poll, whose calls come one at a time.
	dropped lastminute.Counter // dropped messages
	pace    Meter
}

// attached wraps the interface for an atomic pointer.
type attached struct{ control.Control }

// New returns a face, which is not ready before Attach. marks are the marks in the bags.
func New(marks ...note.Mark) *Face {
	return &Face{begun: make(chan struct{}), recorded: marks}
}

// Attach sets the control of the playback. It is called once.
func (f *Face) Attach(control control.Control) {
	f.control.Store(&attached{control})
	close(f.begun)
}

// errNoPlayer means that the player has not begun yet.
var errNoPlayer = command.Refused(command.Unavailable, "nothing is played yet")

// controlOrError returns the control, or errNoPlayer before Attach.
func (f *Face) controlOrError() (control.Control, error) {
	if a := f.control.Load(); a != nil {
		return a.Control, nil
	}
	return nil, errNoPlayer
}

// Program implements web.Backend.
func (*Face) Program() string { return "goplay" }

// KnownBy returns the service by which clients recognize the program.
func (*Face) KnownBy() string { return pausePlayback }

// Pages implements web.Backend.
func (*Face) Pages() fs.FS { return web.Files(assets) }

// Changed implements web.Backend.
func (f *Face) Changed() <-chan struct{} {
	if c, err := f.controlOrError(); err == nil {
		return c.Changed()
	}
	return f.begun
}
