package recorder

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
)

// Check returns the error with which Run would refuse to record now because of o, or because of the
// directory and the name of the bag. It needs no node: resolve resolves names as that of Run would.
// It asks no master and writes nothing.
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

// checkNames resolves names, and returns an error for invalid names and limits.
func (o *Options) checkNames() error {
	for _, l := range o.Limits {
		if err := l.Check(); err != nil {
			return err
		}
	}
	for i, name := range slices.Concat(o.Select.literal, o.Select.Nodes, o.Select.NodePublications) {
		resolved, err := o.resolve(name)
		if err != nil {
			return err
		}
		if i < len(o.Select.literal) {
			o.Select.resolved = append(o.Select.resolved, resolved)
		}
	}
	return o.checkWatched()
}

// ErrNotSelected means that a topic of Options.Watch is not recorded.
var ErrNotSelected = errors.New("a topic that a trigger watches is not recorded")

// checkWatched returns an error for a topic of Options.Watch that is certainly not recorded.
func (o *Options) checkWatched() error {
	if o.Watch == nil {
		return nil
	}
	for _, topic := range o.Watch.Topics() {
		if !o.names(topic) && !o.Select.maySelect(topic) {
			return fmt.Errorf("%w: %s", ErrNotSelected, topic)
		}
	}
	return nil
}
