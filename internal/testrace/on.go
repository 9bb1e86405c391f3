//go:build race

package testrace

// Enabled reports whether the race detector is on. With the detector tests run up to twenty
// times slower and allocate more.
const Enabled = true
