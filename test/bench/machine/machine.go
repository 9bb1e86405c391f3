//go:build linux

// Package machine measures what this machine can do at best, however a recorder or player is made.
package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/test/bench/figures"
	"github.com/gorosbag/gorosbag/test/bench/station"
)

const (
	memoryBlock = 64 << 20 // more than the caches hold
	wakeUps     = 20_000
)

// Measure says what this machine can do at best, however a recorder or player is made.
func Measure(_ context.Context, b *station.Bench, t *figures.Table) error {
	var copies, latencies, processor []float64
	for range b.Rounds {
		copies = append(copies, memoryCopy())
		latency, cpu, err := wakeUp()
		if err != nil {
			return err
		}
		latencies, processor = append(latencies, latency.Seconds()), append(processor, cpu.Seconds())
	}
	middle := func(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
	t.Note("memory copy %.1f GB/s", middle(copies)/1e9)
	t.Note("a thread wakes another in %v, %v of processor time for both", figures.Micro(middle(latencies)), figures.Micro(middle(processor)))
	return nil
}

// memoryCopy returns the bytes a second that one core copies.
func memoryCopy() float64 {
	from, to := make([]byte, memoryBlock), make([]byte, memoryBlock)
	for i := range from {
		from[i], to[i] = byte(i), 1 // both are in memory
	}
	const copies = 8
	start := time.Now()
	for range copies {
		copy(to, from)
	}
	return copies * memoryBlock / time.Since(start).Seconds()
}

// wakeUp returns how long a thread takes to wake another one that waits in read, and the
// processor time that this costs: the least for a message that arrives alone.
func wakeUp() (latency, cpu time.Duration, err error) {
	var there, back [2]int
	if err := errors.Join(unix.Pipe2(there[:], unix.O_CLOEXEC), unix.Pipe2(back[:], unix.O_CLOEXEC)); err != nil {
		return 0, 0, err
	}
	defer func() {
		for _, fd := range []int{there[0], back[0], back[1]} {
			err = errors.Join(err, unix.Close(fd))
		}
	}()
	echoed := make(chan error, 1)
	// owner: wakeUp; ends when the write end is closed.
	go func() {
		runtime.LockOSThread()
		echoed <- echo(there[0], back[1])
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &before); err != nil {
		return 0, 0, err
	}
	start, one := time.Now(), make([]byte, 1)
	for range wakeUps {
		if _, err = unix.Write(there[1], one); err == nil {
			_, err = unix.Read(back[0], one)
		}
		if err != nil {
			break
		}
	}
	took := time.Since(start)
	err = errors.Join(err, unix.Getrusage(unix.RUSAGE_SELF, &after), unix.Close(there[1]), <-echoed)
	used := func(r *unix.Rusage) time.Duration { return time.Duration(r.Utime.Nano() + r.Stime.Nano()) }
	return took / (2 * wakeUps), (used(&after) - used(&before)) / (2 * wakeUps), err
}

// echo writes what it reads until that ends.
func echo(from, to int) error {
	one := make([]byte, 1)
	for {
		n, err := unix.Read(from, one)
		if err != nil || n == 0 {
			return os.NewSyscallError("read", err)
		}
		if _, err := unix.Write(to, one); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
}
