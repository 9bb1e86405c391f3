package harness

import "time"

// StockQueue is the number of messages of a topic that stock's recorder queues. It drops the
// oldest of more when a busy machine delays it.
const StockQueue = 100

// StockPlay is the player of ROS.
const StockPlay = "/usr/lib/rosbag/play"

// IsOurs reports whether the player is goplay.
func IsOurs(player string) bool { return player == "goplay" }

// The tolerances of the times of play: the machine is busy, and stock's times are in tenths of a
// second.
const (
	SlackEarly = 60 * time.Millisecond
	SlackLate  = 700 * time.Millisecond
)
