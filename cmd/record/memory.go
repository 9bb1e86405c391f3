package main

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder"
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

// fitMemory makes the buffer smaller if it does not fit in what a container or a unit may
// have: the kernel would kill the recorder in the middle of the first overload, and with it
// all that waits.
func fitMemory(o *recorder.Options, limit, uploads int64, log *zap.Logger) {
	if limit == math.MaxInt64 {
		return
	}
	room, asked := roomIn(limit, uploads), o.MemoryBytes()
	if asked >= 0 && asked <= room { // it has a bound
		return
	}
	o.BufferBytes = room
	o.Snapshot.Bytes = min(o.Snapshot.Bytes, o.MemoryBytes()/4*3) // more is refused
	log.Warn("the buffer is made smaller: its control group may have no more memory",
		zap.String("limit", humanize.IBytes(uint64(limit))), zap.String("buffer", humanize.IBytes(uint64(o.MemoryBytes()))))
}

// roomIn is how large a buffer may be in so much memory.
func roomIn(limit, uploads int64) int64 {
	const rest = 64 << 20 // see limitMemory
	return max(limit-rest-uploads, limit/4)
}

// memoryLimit returns how much memory the control groups of this process allow it, of
// version 1 or 2, or MaxInt64. root is where the system's files are.
func memoryLimit(root string) int64 {
	limit := int64(math.MaxInt64)
	mounts, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo")) //nolint:gosec // the kernel's, and a test's
	if err != nil {
		return limit // this is not Linux
	}
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) //nolint:gosec // as above
	if err != nil {
		return limit
	}
	for line := range strings.Lines(string(mounts)) {
		// 36 35 0:30 ROOT MOUNTPOINT rw,relatime master:1 - TYPE SOURCE OPTIONS
		before, after, _ := strings.Cut(line, " - ")
		at, kind := strings.Fields(before), strings.Fields(after)
		if len(at) < 5 || len(kind) < 3 {
			continue
		}
		var controller, file string
		switch {
		case kind[0] == "cgroup2":
			file = "memory.max"
		case kind[0] == "cgroup" && slices.Contains(strings.Split(kind[2], ","), "memory"):
			controller, file = "memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// In a container the mount may begin at its own group, and the group may be named
		// from the host's root or from there.
		group := groupOf(string(groups), controller)
		if rel, err := filepath.Rel(at[3], group); err == nil && filepath.IsLocal(rel) {
			group = rel
		} else {
			group = "."
		}
		for ; ; group = filepath.Dir(group) { // each of them holds
			text, err := os.ReadFile(filepath.Join(root, at[4], group, file)) //nolint:gosec // as above
			if n, e := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && e == nil && n < noLimit {
				limit = min(limit, n)
			}
			if group == "." {
				break
			}
		}
	}
	return limit
}

// noLimit is less than what version 1 says when there is none: the largest number of
// pages. Version 2 says max.
const noLimit = 1 << 60

// groupOf returns the group of a controller of version 1, or of version 2 if that is empty.
func groupOf(groups, controller string) string {
	for line := range strings.Lines(groups) { // 4:memory:/a/b
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) == 3 && slices.Contains(strings.Split(f[1], ","), controller) {
			return f[2]
		}
	}
	return "/"
}
