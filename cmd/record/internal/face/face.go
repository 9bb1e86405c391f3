// Package face shows a recording, and takes orders for it, on the web and on the ROS graph. It
// knows the contract of the recorder only.
package face

import (
	"embed"
	"io/fs"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/lastminute"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/recorder/control"
)

//go:embed assets
var assets embed.FS

// Face shows a recording, and takes orders for it. It implements web.Backend.
type Face struct {
	control control.Recording
	pin     time.Duration // how far back a pin reaches by default

	// Owned by Poll, whose calls come one at a time.
	rates rates
	lost  lastminute.Counter // lost messages
	links lastminute.Counter // lost links to publishers

	onGraph rates         // owned by Status, whose calls come one at a time
	service control.Stats // statistics at the last call of Service, which owns them

	mu      sync.Mutex // guards minutes
	minutes map[string]*lastminute.Rates
}

// New returns the face of a recording. pin is how far back a pin reaches by default.
func New(recording control.Recording, pin time.Duration) *Face {
	return &Face{
		control: recording, pin: pin, service: control.Stats{Taken: time.Now()},
		minutes: map[string]*lastminute.Rates{},
	}
}

// Program implements web.Backend.
func (*Face) Program() string { return "gorecord" }

// KnownBy returns the service by which clients recognize the program.
func (*Face) KnownBy() string { return pauseRecording }

// Pages implements web.Backend.
func (*Face) Pages() fs.FS { return web.Files(assets) }

// Changed implements web.Backend.
func (f *Face) Changed() <-chan struct{} { return f.control.Changed() }
