//go:build unix

package testkit

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime returns how long this process has run on all processors. Unlike wall time, it does not grow
// while other processes run in its place.
func CPUTime(tb testing.TB) time.Duration {
	tb.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
