package recorder

import (
	"errors"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
)

// Check returns the error with which Run would refuse to record now because of o, or because of the
// directory and the name of the bag. It needs no node: resolve resolves names as that of Run would.
// It asks no master and writes nothing.
// See ADR 0088.
func Check(o Options, resolve func(name string) (string, error)) error {
	o.resolve = resolve
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	outputs, err := bagfile.OpenSeries(o.Output, o.Sync, o.Split, o.Log)
	if err != nil {
		return err
	}
	if o.Begin != control.StateStopped && o.Snapshot.Mode != control.SnapshotOnly {
		err = outputs.CheckFirst(time.Now())
	}
	return errors.Join(err, outputs.Close())
}
