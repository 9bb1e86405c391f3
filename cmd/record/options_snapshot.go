package main

import (
	"fmt"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/text/units"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// snapshotSettings say when snapshots are taken.
type snapshotSettings struct{ only, beside bool }

func (s *snapshotSettings) mode() control.SnapshotMode {
	switch {
	case s.only:
		return control.SnapshotOnly
	case s.beside:
		return control.SnapshotBeside
	}
	return control.SnapshotOff
}

// any reports whether there are snapshots.
func (s *snapshotSettings) any() bool { return s.only || s.beside }

func (s *snapshotSettings) group(record *recorder.Options) config.Group {
	o := &record.Snapshot
	rules := func() []config.Rule { return s.rules(record) }
	return config.Group{Title: "Snapshots", Rules: rules, Options: []config.Option{
		{Name: "snapshot", Stock: true, Value: config.Switch(&s.only), Help: `
			Keep the latest messages in memory and write them to a bag only on a trigger: a message on snapshot_trigger (std_msgs/Empty), SIGUSR1, the
			service ~snapshot, or the key n. Apart from latched messages, no message is written to two snapshots.`},
		{
			Name: "snapshot-beside", Value: config.Switch(&s.beside),
			Help: `Record as usual, and take snapshots as with --snapshot.`,
		},
		{Name: "pre-roll", Arg: "TIME", Value: config.To(&o.PreRoll, units.Duration), Help: `
			Begin a snapshot this long before its trigger (default: as much as is in memory).`},
		{Name: "post-roll", Arg: "TIME", Value: config.To(&o.PostRoll, units.Duration), Help: `
			Continue a snapshot for this long after its trigger; another trigger in that time extends it (default: end with the trigger).`},
		{Name: "snapshot-bytes", Arg: "SIZE", Value: config.To(&o.Bytes, units.Bytes), Help: `
			Use this much of --buffsize for messages before the trigger (default, and at most, three quarters).`},
	}}
}

func (s *snapshotSettings) rules(o *recorder.Options) []config.Rule {
	rules := []config.Rule{
		{
			Bad: s.only && s.beside, Options: []string{"snapshot", "snapshot-beside"},
			Reason: "leave out --snapshot or --snapshot-beside",
		},
		{
			Bad: s.only && (o.Split || o.MaxBytes != 0 || o.Limit != 0), Options: []string{"snapshot"},
			Reason: "--snapshot writes no bag that --split, --size or --limit could end: use --snapshot-beside",
		},
		{
			Bad: !s.any() &&
				(o.Snapshot.PreRoll != 0 || o.Snapshot.PostRoll != 0 || o.Snapshot.Bytes != 0),
			Options: []string{"pre-roll", "post-roll", "snapshot-bytes", "snapshot", "snapshot-beside"},
			Reason:  "--pre-roll, --post-roll and --snapshot-bytes need --snapshot or --snapshot-beside",
		},
		{
			Bad:     s.any() && o.BufferBytes == recorder.Unlimited && o.Snapshot.Bytes == 0,
			Options: []string{"buffsize"},
			Reason:  "0 sets no limit: --snapshot-bytes has to say how much memory a snapshot may take",
		},
	}
	if room := o.MemoryBytes(); room >= 0 && o.Snapshot.Bytes > room/4*3 {
		rules = append(rules, config.Rule{
			Bad: true, Options: []string{"snapshot-bytes", "buffsize", "chunksize"},
			Value:  units.BytesText(o.Snapshot.Bytes),
			Reason: fmt.Sprintf("does not fit into three quarters of --buffsize %d: want at most %dM, or a larger --buffsize", o.BufferBytes>>20, room/4*3>>20),
		})
	}
	return rules
}
