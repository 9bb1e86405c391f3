//go:build linux

package figures

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// PeakMemory follows a process to its end and returns the most memory that it had
// resident, in bytes. The kernel's own sum at the end, ru_maxrss, would be at least ours: a
// child inherits it.
func PeakMemory(pid int) (most int64) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return most
		}
		_, rest, ok := bytes.Cut(status, []byte("\nVmHWM:"))
		if !ok {
			return most // it has ended and waits for us
		}
		var kib int64
		if _, err := fmt.Sscanf(string(rest), "%d kB", &kib); err != nil {
			return most
		}
		most = max(most, kib<<10)
	}
}
