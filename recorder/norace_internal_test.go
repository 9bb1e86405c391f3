//go:build !race

package recorder

// racing: the race detector is on, and allocates.
const racing = false
