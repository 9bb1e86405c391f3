package harness

import (
	"fmt"
	"slices"
	"time"
)

// StockPlay is the player of ROS.
const StockPlay = "/usr/lib/rosbag/play"

// IsOurs reports whether the player is goplay.
func IsOurs(player string) bool { return player == "goplay" }

// Walk is a bag of 1.2 s: two talkers, and a state that two nodes latch. Stock has times
// as floats of 32 bits: only of such as 0.5 it is clear what is at the edge of a window.
func Walk() []Spoken {
	all := []Spoken{
		{"/state", "/s1", true, 20 * time.Millisecond, "A0"},
		{"/state", "/s2", true, 30 * time.Millisecond, "B0"},
		{"/state", "/s1", true, 520 * time.Millisecond, "A1"},
	}
	for i := range 13 {
		all = append(all, Spoken{"/chatter", "/talker", false, time.Duration(i) * 100 * time.Millisecond, fmt.Sprint("c", i)})
	}
	for i := range 12 {
		all = append(all, Spoken{"/other", "/b", false, time.Duration(i)*100*time.Millisecond + 50*time.Millisecond, fmt.Sprint("o", i)})
	}
	return all
}

// Count returns prefix with the numbers from a to b behind.
func Count(prefix string, a, b int) []string {
	var all []string
	for i := a; i <= b; i++ {
		all = append(all, fmt.Sprint(prefix, i))
	}
	return all
}

// Mix takes one of each in turn.
func Mix(a, b []string) []string {
	var all []string
	for i := range a {
		all = append(all, a[i])
		if i < len(b) {
			all = append(all, b[i])
		}
	}
	return all
}

// Twice returns what two passes are.
func Twice(all []string) []string { return slices.Concat(all, all) }

// How much earlier or later than meant play may be: the machine is busy, and
// stock tells its time in tenths of a second.
const (
	SlackEarly = 60 * time.Millisecond
	SlackLate  = 700 * time.Millisecond
)
