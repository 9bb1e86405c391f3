//go:build !race

package bagfmt_test

// sparse makes the exhaustive tests try every place.
const sparse = 1
