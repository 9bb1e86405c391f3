package bags

import (
	"fmt"
	"slices"
	"time"
)

// Walk returns the messages of a bag of 1.2 s: two talkers, and a state that two nodes latch.
// Stock has 32-bit float times: only with times such as 0.5 the limits of a window are exact.
func Walk() []StringMessage {
	all := []StringMessage{
		{"/state", "/s1", true, 20 * time.Millisecond, "A0"},
		{"/state", "/s2", true, 30 * time.Millisecond, "B0"},
		{"/state", "/s1", true, 520 * time.Millisecond, "A1"},
	}
	for i := range 13 {
		all = append(all, StringMessage{"/chatter", "/talker", false, time.Duration(i) * 100 * time.Millisecond, fmt.Sprint("c", i)})
	}
	for i := range 12 {
		all = append(all, StringMessage{"/other", "/b", false, time.Duration(i)*100*time.Millisecond + 50*time.Millisecond, fmt.Sprint("o", i)})
	}
	return all
}

// Count returns prefix followed by each number from a to b.
func Count(prefix string, a, b int) []string {
	var all []string
	for i := a; i <= b; i++ {
		all = append(all, fmt.Sprint(prefix, i))
	}
	return all
}

// Mix interleaves a and b.
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

// Twice returns the messages of two passes.
func Twice(all []string) []string { return slices.Concat(all, all) }
