//go:build race

package bagfmt_test

// sparse makes the exhaustive tests try one place in so many: the race detector
// makes them twenty times slower, and has nothing to find in them.
const sparse = 13
