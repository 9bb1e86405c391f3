package main

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
	job            *job
	stdout, stderr bytes.Buffer
	err            error
	done           chan struct{}
}

// each calls do for the number of each path, and prints what it printed in the order of paths:
// one path after the other, or several at a time if bags are in a store. A bag that cannot be
// read does not keep the others from being read. A progress bar with this title counts the bags,
// if there are several; without a title each bag on a disk has its own.
func (j *job) each(parent context.Context, title string, paths []string, do func(j *job, n int) error) (failed error) {
	inFlight := 1
	if slices.ContainsFunc(paths, store.Remote) {
		inFlight = min(len(paths), remoteInFlight)
	}
	countsBags := len(paths) > 1 && (title != "" || inFlight > 1)
	begin := func() *result {
		r := &result{done: make(chan struct{})}
		r.job = &job{output: j.to(&r.stdout, j.stderr), jobFlags: j.jobFlags, bar: j.bar}
		if countsBags {
			r.job.output, r.job.bar = j.to(&r.stdout, &r.stderr), &bar{} // the bar of j counts bags
		}
		return r
	}
	ctx, cancel := context.WithCancel(parent)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	queue := make(chan *result, inFlight-1) // and one more is waited for
	// owner: each; ends with the last path, or with ctx.
	running.Go(func() {
		defer close(queue)
		for n := range paths {
			r := begin()
			r.job.ctx = ctx
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
	defer j.bar.clear()
	n := 0
	for r := range queue {
		if countsBags {
			j.bar.set(work{title: title, total: int64(len(paths))}, int64(n))
		}
		<-r.done
		if countsBags {
			j.bar.hide()
		} else {
			j.bar.clear()
		}
		if r.err != nil {
			failed = r.job.failed(paths[n], r.err)
		}
		j.add(r.job)
		_, _ = j.stderr.Write(r.stderr.Bytes()) // there is nowhere else to report errors
		if _, err := j.stdout.Write(r.stdout.Bytes()); err != nil {
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
func (j *job) add(part *job) {
	j.lossy = j.lossy || part.lossy
	if j.told == nil {
		j.told = make(map[string]int)
	}
	maps.Copy(j.told, part.told)
}
