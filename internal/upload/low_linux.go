package upload

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Numbers of ioprio_set(2).
const (
	ioprioWhoProcess = 1
	ioprioIdle       = 3 << 13
)

// lowly runs work on a thread that gets the disk when nobody else wants it, and a small
// share of the processors. The thread ends with it.
func lowly(work func()) {
	done := make(chan struct{})
	// owner: lowly, which waits.
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: nobody else is to get this thread
		tid := unix.Gettid()
		unix.Setpriority(unix.PRIO_PROCESS, tid, 10)                                           //nolint:errcheck,gosec // a courtesy
		unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, uintptr(tid), uintptr(ioprioIdle)) //nolint:errcheck // the same
		work()
	}()
	<-done
}

// passing reads a file without leaving it in the page cache, where it would take the
// place of what is needed.
type passing struct{ *os.File }

// ReadAt implements io.ReaderAt.
func (p passing) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.File.ReadAt(b, off)
	unix.Fadvise(int(p.Fd()), off, int64(n), unix.FADV_DONTNEED) //nolint:errcheck,gosec // advice; not every file system takes it
	return n, err
}

// lock takes a mark for this process. A file system without locks goes without.
func lock(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != unix.EWOULDBLOCK
}
