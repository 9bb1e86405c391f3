package recorder

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
)

// Check returns the error with which Run would refuse to record because of o. It needs no node: resolve
// resolves names as that of Run would. It asks no master and looks at no file. See ADR 0088.
func Check(o Options, resolve func(name string) (string, error)) error {
	o.resolve = resolve
	_, err := o.withDefaults()
	return err
}

// Expectations returns the expectations of o, with the names that their topics have in the bag. resolve
// resolves names as that of Run would.
func Expectations(o Options, resolve func(name string) (string, error)) ([]Expectation, error) {
	o.resolve = resolve
	o, err := o.withDefaults()
	return o.Expect, err
}

// CheckOutput returns the error with which Run would refuse to record now because of the directory or the
// name of the bag. It writes nothing.
func CheckOutput(o Options) error {
	return withOutputs(&o, func(outputs *bagfile.Series) error {
		if !o.begins() {
			return nil
		}
		return outputs.CheckFirst(time.Now())
	})
}

// TryOutput creates a bag as Run would, and removes it again: unlike CheckOutput it finds a directory
// that cannot be written to.
func TryOutput(o Options) error {
	if !o.begins() { // the name is for later
		o.Output = Output{Prefix: filepath.Join(o.Output.Dir(), "try"), Mode: o.Output.Mode}
	}
	return withOutputs(&o, func(outputs *bagfile.Series) error {
		bag, err := outputs.Create(time.Now())
		if err != nil {
			return err
		}
		return bag.Discard()
	})
}

// Deletion says when a recording that Run begins now would begin to delete old bags. It writes nothing.
func Deletion(o Options) (d control.Deletion, err error) {
	err = withOutputs(&o, func(outputs *bagfile.Series) error {
		retain := retention.New(o.Retain, o.Log, outputs.Free, o.handover().Keeps)
		err := retain.Look(outputs)
		d = o.deletion(retain)(time.Now())
		return err
	})
	return d, err
}

// begins reports whether the recording begins with a bag.
func (o *Options) begins() bool {
	return o.Begin != control.StateStopped && o.Snapshot.Mode != control.SnapshotOnly
}

func withOutputs(o *Options, do func(*bagfile.Series) error) error {
	outputs, err := bagfile.OpenSeries(o.Output, o.Sync, o.Split, o.Log)
	if err != nil {
		return err
	}
	return errors.Join(do(outputs), outputs.Close())
}
