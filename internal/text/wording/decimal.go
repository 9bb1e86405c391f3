// This file writes times and durations as seconds with nine decimals. In JSON they are strings, because
// most readers of JSON would cut digits of a number.

package wording

import (
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// DecimalTime returns t in seconds. In a bag the nanoseconds may be a second and more: they are carried.
func DecimalTime(t rosbag.Time) string { return t.Add(0).String() }

// DecimalDuration returns d in seconds.
func DecimalDuration(d time.Duration) string {
	sign, n := "", uint64(d)
	if d < 0 {
		sign, n = "-", -n // also of the smallest Duration, which has no positive one
	}
	return fmt.Sprintf("%s%d.%09d", sign, n/1e9, n%1e9)
}
