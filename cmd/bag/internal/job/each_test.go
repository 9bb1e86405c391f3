package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestEachInOrder: bags in a store are read a few at a time, those on a disk one after the other;
// what is printed comes in the order of the arguments, and an error does not keep the others from
// being read.
func TestEachInOrder(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]int32{"s3://bucket/": remoteInFlight, "/disk/": 1} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var paths []string
				for n := range 10 {
					paths = append(paths, fmt.Sprintf("%s%d.bag", place, n))
				}
				var stdout, stderr bytes.Buffer
				j := New(t.Context(), NewOutput(strings.NewReader(""), &stdout, &stderr), Options{})
				var running, most atomic.Int32
				failed := j.Each(t.Context(), "", paths, func(j *Job, n int) error {
					now := running.Add(1)
					for last := most.Load(); now > last && !most.CompareAndSwap(last, now); last = most.Load() {
					}
					defer running.Add(-1)
					time.Sleep(time.Duration(len(paths)-n) * time.Second) // the last ones are the fastest
					switch n {
					case 3:
						return errors.New("a test")
					case 5:
						j.Lost(paths[n], errors.New("a hole"))
					}
					fmt.Fprintln(j.Stdout, n)
					return nil
				})
				if !errors.Is(failed, ErrReported) || !errors.Is(j.Done(), ErrLossy) {
					t.Errorf("each returns %v, the job %v", failed, j.Done())
				}
				if got := strings.Fields(stdout.String()); strings.Join(got, "") != "012456789" {
					t.Errorf("printed %v", got)
				}
				if want := fmt.Sprintf("gobag: %s3.bag: a test\ngobag: %[1]s5.bag: a hole\n", place); stderr.String() != want {
					t.Errorf("reported %q, want %q", stderr.String(), want)
				}
				if most.Load() != want {
					t.Errorf("%d at a time, want %d", most.Load(), want)
				}
			})
		})
	}
}

// TestEachInterrupted: an interrupt ends what is being read, and begins nothing more.
func TestEachInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	j := New(ctx, NewOutput(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}), Options{})
	var begun sync.WaitGroup
	begun.Add(remoteInFlight)
	var calls atomic.Int32
	go func() {
		begun.Wait()
		cancel()
	}()
	err := j.Each(ctx, "", []string{"s3://b/1", "s3://b/2", "s3://b/3", "s3://b/4", "s3://b/5", "s3://b/6"}, func(j *Job, _ int) error {
		if calls.Add(1) <= remoteInFlight {
			begun.Done()
		}
		<-j.Ctx.Done()
		return j.Ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || calls.Load() > remoteInFlight {
		t.Errorf("error %v after %d calls", err, calls.Load())
	}
}
