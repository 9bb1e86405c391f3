// Package recorder subscribes to ROS topics and writes what arrives to bag files.
//
// The links hand runs of raw frames to the intake, which copies them once into the
// open chunk. When that chunk is full or old, a free buffer takes its place, the encoder compresses the
// chunk on one of all cores, and the sink writes chunks in order. Options.BufferBytes bounds the memory of
// all buffers; messages that do not fit are dropped and counted by topic
// and cause, or hold up the publishers, as Options.Overflow says.
//
// Nothing on the network can delay the closing of a bag: Run closes the file and
// leaves it to the caller to close the node, which talks to the master.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/repair"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
	"github.com/gorosbag/gorosbag/recorder/internal/subscribe"
)

// Run records until ctx is done, the duration is over, every topic has reached its limit, or no file can
// be written. It returns when the bag is closed and everything it started has ended, except after
// ErrDiskHangs, or if a recovery hangs. The summary is valid even with an error.
func Run(ctx context.Context, o Options) (control.Summary, error) {
	o, err := o.withDefaults()
	if err != nil {
		return control.Summary{}, err
	}
	if o.Publish {
		if o.onOpen, err = announce(o.Node); err != nil {
			return control.Summary{}, err
		}
	}
	outputs, err := bagfile.OpenSeries(o.Output, o.Sync, o.Split, o.Log)
	if err != nil {
		return control.Summary{}, err
	}
	r := &session{o: o, subs: subscribe.New(o.subscriptions())}
	if err := r.awaitClock(ctx); err != nil {
		r.subs.Close()
		return control.Summary{}, errors.Join(err, outputs.Close())
	}
	r.started = time.Now()
	retain, out, err := r.openFirst(outputs)
	if err != nil {
		r.subs.Close()
		return control.Summary{}, errors.Join(err, outputs.Close())
	}
	r.wire(outputs, retain, out, time.Now())
	orphans := repair.Orphans(outputs.Dir)
	if out != nil {
		r.sink.Bags.Opened(out)
	}
	if o.Begin != control.StateRecording {
		o.Log.Info("Nothing is recorded yet: " + o.Begin.String() + " from the beginning")
	}
	o.Control.attach(r)
	endRepair := r.repairOrphans(ctx, orphans)
	err = r.record(ctx)
	o.Control.attach(nil)
	endRepair(err)
	sum := r.summary(time.Since(r.started))
	sum.DiskFull = errors.Is(err, ErrMinSpace)
	if !errors.Is(err, ErrDiskHangs) { // the sink is blocked by the disk and has been abandoned
		err = errors.Join(err, retain.Close(), outputs.Close())
	}
	return sum, err
}

// openFirst opens the first file if the recording begins with one.
func (r *session) openFirst(outputs *bagfile.Series) (*retention.Retainer, *files.Bag, error) {
	var orphans []string // that wait for their repair
	if r.o.Recover {
		orphans = repair.Orphans(outputs.Dir)
	}
	retain := retention.New(r.o.Retain, r.o.Log, outputs.Free, r.o.handover().Keeps)
	if err := retain.Load(outputs, orphans); err != nil {
		r.o.Log.Warn("bags of earlier recordings do not count for the limits of this one", zap.Error(err))
	}
	err := r.makeRoom(outputs, retain, orphans)
	if !r.o.begins() {
		return retain, nil, nil
	}
	var out *files.Bag
	if err == nil {
		out, err = files.Create(outputs, r.started)
	}
	if err != nil {
		return nil, nil, errors.Join(err, retain.Close())
	}
	return retain, out, nil
}

// makeRoom deletes files as Options.Retain says if there is too little room to begin a bag; otherwise
// watchDisk does so. In the end it gives up orphans: a repair needs more room than a bag that begins.
func (r *session) makeRoom(outputs *bagfile.Series, retain *retention.Retainer, orphans []string) error {
	short := func() error { return disk.Short(retain.Free, r.o.MinSpace, r.o.MinSpaceText) }
	err := short()
	if err != nil {
		retain.Enforce(r.started)
		err = short()
	}
	for i := 0; err != nil && i < len(orphans); i++ {
		retain.Trying(outputs, orphans[i])(false)
		err = short()
	}
	if err == nil || r.o.MinSpace == 0 { // without --min-space, the reservation of the bag decides
		return nil
	}
	if free, unknown := retain.Free(); unknown == nil && free < r.o.MinSpace {
		return fmt.Errorf("%w: %s Make room, or set a smaller --min-space", ErrMinSpace,
			disk.LowSpace(r.o.MinSpaceText, outputs.Next(r.started)))
	}
	return fmt.Errorf("%w: make room, or set a smaller --min-space", err)
}
