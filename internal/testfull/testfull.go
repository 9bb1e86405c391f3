// Package testfull tells tests whether make test-full runs them, which is the place for what takes
// long: every place of damage instead of a sample, each comparison with stock.
package testfull

import (
	"os"
	"testing"
)

// Enabled reports whether the long tests run. Call it while a test runs, never from a variable of
// a package: the go command takes the result of make test for that of make test-full unless it
// sees a test read the variable.
func Enabled() bool { return os.Getenv("GOROSBAG_FULL") != "" }

// Skip skips the test unless the long tests run, and logs the reason: what the test takes.
func Skip(tb testing.TB, reason string) {
	tb.Helper()
	if !Enabled() {
		tb.Skip("only with GOROSBAG_FULL=1: " + reason)
	}
}
