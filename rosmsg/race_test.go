//go:build race

package rosmsg_test

// racing makes the comparisons with stock shorter: the race detector makes them twenty
// times slower, and has nothing to find in them.
const racing = true
