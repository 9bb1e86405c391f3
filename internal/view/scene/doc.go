// Package scene makes simple pictures of messages that are no images, as values for a two-dimensional
// canvas that marshal to JSON: points from above, maps, tracks, the tree of frames, bands of diagnostics,
// and the log.
//
// It owns what the fields of these types mean, and what is wrong with them. Some scenes are of one
// message, others are gathered from many. Its errors can be shown in the place of the scene. It knows
// neither files nor the network, and starts no goroutine.
//
// # Limits
//
// Messages may come from anywhere. A scene has at most 20000 points, 512 x 512 cells, 4000 points of a
// track, 2000 frames, 1000 names of diagnostics with 500 bands each, or 1000 lines of the log. What is
// beyond is thinned out or left out, and the scene says so. Texts are cut after 1 KiB.
package scene

import (
	"errors"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// ErrCorrupt is matched by errors about a message whose parts do not fit each other.
var ErrCorrupt = errors.New("damaged message")

// Kind is what a scene shows. The value of a scene has it as "kind".
type Kind string

// The kinds of scenes. Points, Grid and Path are of one message, the others are gathered.
const (
	Points Kind = "points" // LaserScan, PointCloud2
	Grid   Kind = "grid"   // OccupancyGrid
	Path   Kind = "path"   // Path
	Track  Kind = "track"  // Odometry, PoseStamped, NavSatFix and the like
	Tree   Kind = "tree"   // TFMessage
	Levels Kind = "levels" // DiagnosticArray
	Log    Kind = "log"    // Log
)

// Gathers reports whether scenes of the kind are made of many messages.
func (k Kind) Gathers() bool { return k == Track || k == Tree || k == Levels || k == Log }

// Options say what is gathered.
type Options struct {
	// Start is the time that seconds are counted from.
	Start rosbag.Time
	// At is the playhead: the tree, the table of diagnostics and the log are as they were then. Zero
	// means as they are at the end.
	At rosbag.Time
	// Level, Node and Text filter the log: the least level, and what the name of the node and the line
	// contain, in any case.
	Level      int
	Node, Text string
}

// seconds returns a time as the page has it.
func (o Options) seconds(t rosbag.Time) float64 { return t.Sub(o.Start).Seconds() }

// after reports whether a time is after the playhead.
func (o Options) after(t rosbag.Time) bool { return !o.At.IsZero() && o.At.Before(t) }

// Message is a message to be gathered.
type Message struct {
	Type      *rosmsg.Type
	Time      rosbag.Time // of its receipt
	Publisher string
	Static    bool   // it counts until it is replaced, as those of /tf_static
	Payload   []byte // borrowed while it is added
}

// Gatherer makes a scene of many messages. It belongs to one goroutine.
type Gatherer interface {
	// Add adds a message of the kind, in the order of receipt. An error is about this message only.
	Add(m Message) error
	// Scene returns the scene of the messages so far. It shares nothing with the gatherer.
	Scene() any
}
