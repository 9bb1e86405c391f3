package main

import (
	"os"
	"runtime"
)

// spareCores is how many goroutines Go may run beside one on each core. The pacer
// sleeps in the kernel on a thread of its own; when it wakes up and chunks are being
// unpacked on all that Go may use, it would wait up to 10 ms for the scheduler of Go,
// where that of the kernel lets it go first.
const spareCores = 2

// spare makes room for the pacer, unless the user has decided.
func spare() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spareCores)
	}
}
