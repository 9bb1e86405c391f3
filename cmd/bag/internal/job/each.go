package job

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/queue/inorder"
)

// remoteInFlight is how many bags in a store are read at a time: most of the time is spent
// waiting for the store.
const remoteInFlight = 4

// result is what becomes of one bag.
type result struct {
	job            *Job
	number         int // of the bag
	stdout, stderr bytes.Buffer
	err            error
}

// Each calls do for the number of each path, and prints what it printed in the order of paths:
// one path after the other, or several at a time if bags are in a store. A bag that cannot be
// read does not keep the others from being read. do gets a job of its own for the bag. A progress bar
// with this title counts the bags, if there are several; without a title each bag on a disk has its own.
func (j *Job) Each(parent context.Context, title string, paths []string,
	do func(j *Job, n int) error,
) (failed error) {
	inFlight := 1
	if slices.ContainsFunc(paths, store.Remote) {
		inFlight = min(len(paths), remoteInFlight)
	}
	countsBags := len(paths) > 1 && (title != "" || inFlight > 1)
	queue := inorder.New(make([]struct{}, inFlight),
		func(r *result, _ struct{}) { r.err = do(r.job, r.number) })
	defer queue.Close()
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	begin := func(n int) {
		r := &result{number: n}
		r.job = &Job{
			Output: j.to(&r.stdout, j.Stderr), Options: j.Options, Ctx: ctx, Bar: j.Bar,
			Definitions: j.Definitions, Foreign: j.Foreign, reported: make(map[string]int),
		}
		if countsBags {
			r.job.Output, r.job.Bar = j.to(&r.stdout, &r.stderr), &Bar{} // the bar of j counts bags
		}
		queue.Start(r)
	}
	defer j.Bar.Clear()
	for n, begun := 0, 0; n < len(paths) && parent.Err() == nil; n++ {
		for ; begun < len(paths) && queue.Len() < inFlight; begun++ {
			begin(begun)
		}
		if countsBags {
			j.Bar.Set(Work{Title: cmp.Or(title, "Reading bags"), Total: int64(len(paths))}, int64(n))
		}
		r := queue.Take()
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
	}
	return errors.Join(failed, parent.Err())
}

// add takes over what was lost in a part of the job.
func (j *Job) add(part *Job) {
	j.Lossy = j.Lossy || part.Lossy
	maps.Copy(j.reported, part.reported)
}
