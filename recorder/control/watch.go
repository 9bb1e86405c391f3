package control

import (
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/rosbag"
)

// GraphName is the resolved name of a topic. In the bag it may have another one, relative or with a ~.
type GraphName = topicname.InGraph

// Watcher gets the messages of some recorded topics as they arrive, whatever the state of
// the recording. Its methods are called by many goroutines and must not wait for anything.
type Watcher interface {
	// Topics returns the topics to watch. Run returns an error that
	// matches ErrNotSelected for one that the selection leaves out for certain.
	Topics() []GraphName
	// Open is called when a publisher of such a topic is linked. header must not be changed.
	Open(topic GraphName, header rosbag.Header) LinkWatcher
	// Triggers returns an account of what the messages have triggered.
	Triggers() []TriggerStats
}

// LinkWatcher looks at the messages of one publisher. Only the goroutine of its link calls it.
type LinkWatcher interface {
	// Frames gets a run of count frames, valid during the call only, after the recording has
	// got them. bagTime is the time of the last frame in the bag; received is when it was received.
	Frames(run []byte, count int, bagTime, received time.Time)
	// Skipped counts messages of more than 128 KiB, which a watcher does not get.
	Skipped(messages int)
}
