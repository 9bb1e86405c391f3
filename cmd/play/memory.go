package main

import (
	"math"

	"github.com/gorosbag/gorosbag/internal/program"
)

// limitMemory sets a memory limit for the garbage collector near that of the control group. Otherwise
// unpacked chunks that are no longer needed would be collected so late that the kernel kills the program
// in a container of 128 MiB, although what is read ahead is a third of that.
func limitMemory(limit int64) {
	const besideHeap = 16 << 20 // buffers of sockets, and pages of the program
	if limit != math.MaxInt64 {
		program.LimitHeap(max(limit-besideHeap, limit/2))
	}
}
