// This file tells tests whether the race detector is on.

package testkit

import "testing"

// SkipInRace skips the test if the race detector is on, and logs the reason: the detector makes the test
// many times slower and has nothing to find in it, or it changes what the test measures.
func SkipInRace(tb testing.TB, reason string) {
	tb.Helper()
	if Race {
		tb.Skip("not with the race detector: " + reason)
	}
}
