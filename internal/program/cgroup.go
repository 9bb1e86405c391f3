// This file reads what the control groups of this process allow. It never changes them.

package program

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// MemoryLimit returns the memory limit of the control groups of this process, version 1 or 2,
// or MaxInt64 if there is none. root is the root directory.
// See ADR 0047.
func MemoryLimit(root string) int64 {
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
		// In a container the mount may begin at its own group, and the path of the group may be
		// relative to the host's root or to that mount.
		group := groupOf(string(groups), controller)
		if rel, err := filepath.Rel(at[3], group); err == nil && filepath.IsLocal(rel) {
			group = rel
		} else {
			group = "."
		}
		for ; ; group = filepath.Dir(group) { // the limits of all parents apply
			text, err := os.ReadFile(filepath.Join(root, at[4], group, file)) //nolint:gosec // as above
			if n, e := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && e == nil &&
				n < unlimitedV1 {
				limit = min(limit, n)
			}
			if group == "." {
				break
			}
		}
	}
	return limit
}

// unlimitedV1 is a lower bound of the value that version 1 has without a limit: the largest
// number of pages. Version 2 has "max".
const unlimitedV1 = 1 << 60

// groupOf returns the path of the group of a version 1 controller, or of version 2 if
// controller is empty.
func groupOf(groups, controller string) string {
	for line := range strings.Lines(groups) { // 4:memory:/a/b
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) == 3 && slices.Contains(strings.Split(f[1], ","), controller) {
			return f[2]
		}
	}
	return "/"
}
