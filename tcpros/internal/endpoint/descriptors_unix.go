//go:build unix

package endpoint

import (
	"math"
	"syscall"
)

// openFiles returns how many files this process may have open; zero if there is no limit.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	if n := uint64(limit.Cur); n < math.MaxInt32 { //nolint:unconvert // the type depends on the system
		return int(n)
	}
	return 0
}
