//go:build !race

package bagfmt_test

const raceEnabled = false
