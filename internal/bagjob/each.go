package bagjob

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/gorosbag/gorosbag/internal/store"
)

// remoteInFlight is how many bags in a store are read at a time: most of the time is spent
// waiting for the store.
const remoteInFlight = 4

// result is what became of one bag.
type result struct {
	job            *Job
	stdout, stderr bytes.Buffer
	err            error
	done           chan struct{}
}

// Each calls do for the number of each path, and prints what it printed in the order of paths:
// one path after the other, or several at a time if bags are in a store. A bag that cannot be
// read does not keep the others from being read. do gets a job of its own for the bag. A progress bar
// with this title counts the bags, if there are several; without a title each bag on a disk has its own.
func (j *Job) Each(parent context.Context, title string, paths []string, do func(j *Job, n int) error) (failed error) {
	inFlight := 1
	if slices.ContainsFunc(paths, store.Remote) {
		inFlight = min(len(paths), remoteInFlight)
	}
	countsBags := len(paths) > 1 && (title != "" || inFlight > 1)
	begin := func() *result {
		r := &result{done: make(chan struct{})}
		r.job = &Job{Output: j.to(&r.stdout, j.Stderr), Options: j.Options, Bar: j.Bar}
		if countsBags {
			r.job.Output, r.job.Bar = j.to(&r.stdout, &r.stderr), &Bar{} // the bar of j counts bags
		}
		return r
	}
	ctx, cancel := context.WithCancel(parent)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	queue := make(chan *result, inFlight-1) // and one more is waited for
	// owner: Each; ends with the last path, or with ctx.
	running.Go(func() {
		defer close(queue)
		for n := range paths {
			r := begin()
			r.job.Ctx = ctx
			select {
			case queue <- r:
			case <-ctx.Done():
				return
			}
			running.Go(func() {
				defer close(r.done)
				r.err = do(r.job, n)
			})
		}
	})
	if title == "" {
		title = "Reading bags"
	}
	defer j.Bar.Clear()
	n := 0
	for r := range queue {
		if countsBags {
			j.Bar.Set(Work{Title: title, Total: int64(len(paths))}, int64(n))
		}
		<-r.done
		if countsBags {
			j.Bar.Hide()
		} else {
			j.Bar.Clear()
		}
		if r.err != nil {
			failed = r.job.Failed(paths[n], r.err)
		}
		j.add(r.job)
		_, _ = j.Stderr.Write(r.stderr.Bytes()) // there is nowhere else to report errors
		if _, err := j.Stdout.Write(r.stdout.Bytes()); err != nil {
			return err
		}
		if parent.Err() != nil {
			return errors.Join(failed, parent.Err())
		}
		n++
	}
	return errors.Join(failed, parent.Err())
}

// add takes over what was lost in a part of the job.
func (j *Job) add(part *Job) {
	j.lossy = j.lossy || part.lossy
	if j.reported == nil {
		j.reported = make(map[string]int)
	}
	maps.Copy(j.reported, part.reported)
}
