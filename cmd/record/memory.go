package main

import (
	"math"

	"github.com/dustin/go-humanize"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// limitMemory sets a memory limit for the garbage collector near the size of the buffer:
// buffers are reused, but released ones would otherwise be collected late. others is the
// memory of uploads, triggers and an embedded master.
func limitMemory(buffers, others int64) {
	const overhead = 40 << 20 // for all else in the heap: with the program itself 64 MB at most
	if buffers > 0 {
		program.LimitHeap(buffers + others + overhead)
	}
}

// masterMemory returns what an embedded master may need of the heap in bytes; address is empty without
// such a master. The memory limit of the garbage collector has to include these bytes: otherwise the
// collector would run all the time once parameters and replies take them. Parameters seldom take a
// megabyte, so the buffer is not made smaller for them.
func masterMemory(address string) int64 {
	if address == "" {
		return 0
	}
	return master.HeapBytes
}

// fitMemory makes the buffer smaller if it exceeds the memory limit of the container or unit:
// otherwise the kernel would kill the recorder at the first overload, and all messages in the
// buffer would be lost.
func fitMemory(o *recorder.Options, limit, others int64, log *zap.Logger) {
	if limit == math.MaxInt64 {
		return
	}
	room, asked := bufferFor(limit, others), o.MemoryBytes()
	if asked >= 0 && asked <= room { // it has a bound
		return
	}
	o.BufferBytes = room
	o.Snapshot.Bytes = min(o.Snapshot.Bytes, o.MemoryBytes()/4*3) // more is refused
	log.Warn("the buffer is made smaller: its control group may have no more memory",
		zap.String("limit", humanize.IBytes(uint64(limit))),
		zap.String("buffer", humanize.IBytes(uint64(o.MemoryBytes()))))
}

// bufferFor returns the buffer size for a memory limit.
func bufferFor(limit, others int64) int64 {
	const overhead = 64 << 20 // see limitMemory
	return max(limit-overhead-others, limit/4)
}
