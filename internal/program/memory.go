package program

import (
	"os"
	"runtime/debug"
)

// LimitHeap sets a memory limit in bytes for the garbage collector, unless the user has set one (GOMEMLIMIT).
func LimitHeap(bytes int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes)
	}
}
