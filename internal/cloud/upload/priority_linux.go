package upload

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Constants of ioprio_set(2).
const (
	ioprioWhoProcess = 1
	ioprioIdle       = 3 << 13
)

// runAtLowPriority runs work on a thread of its own, with idle I/O priority and a low CPU
// priority. The thread ends with work.
func runAtLowPriority(work func()) {
	done := make(chan struct{})
	// owner: runAtLowPriority, which waits.
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked, so that the thread is not reused
		tid := unix.Gettid()
		unix.Setpriority(unix.PRIO_PROCESS, tid, 10)                                           //nolint:errcheck,gosec // best effort
		unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, uintptr(tid), uintptr(ioprioIdle)) //nolint:errcheck // the same
		work()
	}()
	<-done
}

// uncachedFile reads a file without leaving it in the page cache, where it would evict more
// useful pages.
type uncachedFile struct{ *os.File }

// ReadAt implements io.ReaderAt.
func (p uncachedFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.File.ReadAt(b, off)
	unix.Fadvise(int(p.Fd()), off, int64(n), unix.FADV_DONTNEED) //nolint:errcheck,gosec // advice; not every file system takes it
	return n, err
}

// tryLock locks a marker file for this process. On a file system without locks it always succeeds.
func tryLock(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != unix.EWOULDBLOCK
}
