package main

import (
	"os"
	"runtime"
)

// extraProcs is added to GOMAXPROCS. The pacer sleeps in the kernel on a thread of its own.
// When it wakes up while decompression occupies all of GOMAXPROCS, it would wait up to 10 ms
// for the Go scheduler, whereas the kernel's scheduler runs its thread first.
const extraProcs = 2

// raiseMaxProcs raises GOMAXPROCS for the pacer, unless the user has set it.
func raiseMaxProcs() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + extraProcs)
	}
}
