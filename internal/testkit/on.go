//go:build race

package testkit

// Race reports whether the race detector is on. With the detector tests run up to twenty
// times slower and allocate more.
const Race = true
