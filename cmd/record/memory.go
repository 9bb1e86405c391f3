package main

import (
	"os"
	"runtime/debug"
)

// limitMemory makes the garbage collector keep the process near the buffer's size:
// buffers are reused, but those that are let go would otherwise linger. uploads is what
// those need beside.
func limitMemory(buffers, uploads int64) {
	const rest = 40 << 20 // for all else in the heap: with the program itself 64 MB at most
	if buffers > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(buffers + uploads + rest)
	}
}
