package mcap

import "github.com/gorosbag/gorosbag/rosbag"

// File is what is known of a file besides its chunks.
type File struct {
	rosbag.MCAPInfo
	Channels Channels
	// Stated is the number of messages that the statistics of a good summary know of, 0 without them.
	Stated uint64
}
