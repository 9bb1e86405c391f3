package mcap

import "github.com/gorosbag/gorosbag/rosbag"

// File is what is known of a file besides its chunks.
type File struct {
	rosbag.MCAPInfo
	Channels Channels
}
