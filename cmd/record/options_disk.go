package main

import (
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/text/units"
	"github.com/gorosbag/gorosbag/recorder"
)

// diskSettings are options about retention that the control of the recording carries out.
type diskSettings struct {
	pin time.Duration // the span of time whose bags a pin protects
}

// group returns the options. hasPauses reports whether files are closed also without --split.
func (d *diskSettings) group(o *recorder.Options, hasPauses func() bool) config.Group {
	rules := func() []config.Rule {
		kept := o.Retain
		kept.Files = 0
		return []config.Rule{{
			Bad:     kept != recorder.Retention{} && !o.Split && !hasPauses(),
			Options: []string{"max-bytes", "max-age", "keep-free", "split", "stopped", "start-on"},
			Reason:  "--max-bytes, --max-age and --keep-free delete closed files: they need --split, --stopped or --start-on",
		}}
	}
	return config.Group{Title: "Disk space and retention", Rules: rules, Options: []config.Option{
		{Name: "min-space", Short: "L", Arg: "SIZE", Default: "1G", Stock: true, Value: config.Func(
			func(n int64) { o.MinSpace, o.MinSpaceText = n, units.BytesText(n) }, units.Bytes), Help: `
			End when less than this is free on the disk: bytes, or with K, M or G (default ${default}, 0 = do not check).`},
		{Name: "max-splits", Arg: "N", Stock: true, Value: config.To(&o.Retain.Files, units.Int, units.AtLeast(0, "Number of splits must be 0 or positive: 0 keeps all files")), Help: `
			With --split: keep only the N closed files of this recorder that were recorded last, those of earlier runs included.`},
		{Name: "max-bytes", Arg: "SIZE", Value: config.To(&o.Retain.Bytes, units.Bytes), Help: `
			With --split, --stopped or --start-on: delete the closed files of this recorder that were recorded first, those of earlier runs included,
			beyond this size together (such as 20G).`},
		{Name: "max-age", Arg: "TIME", Value: config.To(&o.Retain.Age, units.Duration), Help: `
			With --split, --stopped or --start-on: delete files of this recorder, those of earlier runs included, that were closed longer ago than
			this.`},
		{Name: "keep-free", Arg: "SIZE", Value: config.To(&o.Retain.KeepFree, units.Bytes), Help: `
			With --split, --stopped or --start-on: delete the closed files of this recorder that were recorded first, those of earlier runs included,
			while less than this is free on the disk.`},
		{Name: "pin", Arg: "TIME", Default: "5m", Value: config.To(&d.pin, units.Duration), Help: `
			When the service ~pin is called, protect the bags of the last TIME from --max-splits, --max-bytes, --max-age and --keep-free (default
			${default}).`},
		{Name: "recover", Value: config.Switch(&o.Recover), Help: `
			At the start, repair each X.bag.active that a crashed recorder left in the directory: make X.bag of it while recording, and rename the
			original to X.bag.orig.active, which limits delete before any bag. Without this option they are only reported.`},
	}}
}
