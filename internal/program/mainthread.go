package program

import "runtime"

// The kernel delivers a signal to the main thread unless that blocks the signal, even while
// the thread waits for a disk that hangs. Then it wakes no other thread, and the interrupt
// takes effect only when the disk answers. So the main thread only waits for the program.
func init() { runtime.LockOSThread() } //nolint:gochecknoinits // only in init the goroutine of main is sure to be on the main thread

// OffMainThread runs a program from main, on any thread but the main one, and returns its
// exit code.
func OffMainThread(run func() int) int {
	code := make(chan int)
	// owner: OffMainThread; ends with run, or with the process.
	go func() { code <- run() }()
	return <-code
}
