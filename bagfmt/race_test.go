//go:build race

package bagfmt_test

const raceEnabled = true
