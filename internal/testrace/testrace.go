// Package testrace tells tests whether the race detector is on.
package testrace

import "testing"

// Skip skips the test where the race detector is on, with the reason: the detector makes the
// test many times slower and has nothing to find in it, or the detector changes what the test
// measures.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if Enabled {
		t.Skip("not with the race detector: " + reason)
	}
}
