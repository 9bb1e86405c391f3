// This file tells tests whether make test-full runs them, which is the place for what takes
// long: every place of damage instead of a sample, each comparison with stock.

package testkit

import (
	"os"
	"testing"
)

// Full reports whether the long tests run. Call it while a test runs, never from a variable of
// a package: the go command takes the result of make test for that of make test-full unless it
// sees a test read the variable.
func Full() bool { return os.Getenv("GOROSBAG_FULL") != "" }

// SkipUnlessFull skips the test unless the long tests run, and logs the reason: what the test takes.
func SkipUnlessFull(tb testing.TB, reason string) {
	tb.Helper()
	if !Full() {
		tb.Skip("only with GOROSBAG_FULL=1: " + reason)
	}
}
