package main

import (
	"context"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/doors"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
)

const name = "gorecord"

// commands are what the program does besides, if its command line begins with their name.
func commands() program.Subcommands {
	return program.Subcommands{preflightHelp(), expectHelp(), doors.HealthcheckHelp(name)}
}

// settings are what the options of gorecord set.
type settings struct {
	options.Common
	record recorder.Options // but for what only a running program has, such as the node

	selection selectionSettings
	limits    limitSettings
	expect    expectSettings
	files     fileSettings
	disk      diskSettings
	buffers   bufferSettings
	snapshot  snapshotSettings
	triggers  triggerSettings
	upload    uploadSettings
	control   controlSettings
}

const help = `Record ROS topics to a bag file (format V2.0).

ROS arguments work as in every node: __name:=, __ns:=, __master:=, __ip:=, __hostname:= and /from:=/to. ` +
	`Exit code: 0 all messages were recorded, 1 usage or start-up error, 2 internal error, 3 messages were lost: ` +
	`dropped by gorecord, dropped by a publisher (gaps in header.seq), or possibly when a connection broke; an expectation of --expect was not met, ` +
	`another node took the name of this one, the disk was nearly full, the master never answered, or files were deleted before they were uploaded or recovered.`

// program returns the options of gorecord, which set s.
func (s *settings) program() *config.Program {
	o := &s.record
	return &config.Program{
		Name: name, Version: program.Version(), Help: help + commands().List(),
		Words: config.Words{
			Name: "topic", Option: "topic",
			Help: `Topics to record: names, or globs in which * stands for any text without a slash and ** for any text. With -e
				these are regular expressions that must match the whole topic name.`,
		},
		Groups: append([]config.Group{
			s.selection.group(o), s.limits.group(o), s.expect.group(), s.files.group(o),
			s.disk.group(o, s.hasPauses), s.buffers.group(o), s.snapshot.group(o),
			s.triggers.group(s.snapshot.any), s.upload.group(), s.control.group(), linkOptions(o),
			s.ROS.Group(),
			s.Web.Group(web.CheckToken, func(address string, hasToken bool) error {
				return web.CheckListen(context.Background(), address, hasToken)
			}),
		}, s.Groups()...),
		Complete: s.complete,
	}
}

// parse reads the command line, the environment and the file. Its error has all that is wrong.
func parse(args []string) (*settings, error) {
	s := new(settings)
	_, err := s.program().Parse(args)
	return s, err
}

// complete sets what follows from several options.
func (s *settings) complete() {
	s.files.readOldSplit(&s.record)
	o := &s.record
	o.Split = s.files.split.on || o.SplitAt > 0
	if o.MaxBytes == 0 {
		o.MaxBytes = int64(s.files.split.mib) << 20
	}
	o.Limits = s.limits.all()
	s.expect.set(o)
	o.Notes, s.selection.notesError = note.ParseNotes(s.selection.notes)
	o.Compression = s.buffers.compression()
	o.Snapshot.Mode = s.snapshot.mode()
	switch {
	case s.control.paused:
		o.Begin = control.StatePaused
	case s.hasPauses():
		o.Begin = control.StateStopped
	}
}

// hasPauses reports whether the recording may be without a file for a while.
func (s *settings) hasPauses() bool { return s.control.stopped || len(s.triggers.start) > 0 }

// options returns the options of the recorder, but for the node and what ends the recording, and warns of
// options that have no effect.
func (s *settings) options(log *zap.Logger) recorder.Options {
	o := s.record
	o.Log, o.Control = log, new(recorder.Control)
	o.CountTopics = s.control.hasScreen() // which lists them; without one these are stock's lines
	if c := &o.Select; len(c.Exclude) > 0 && !c.All && !c.Regex &&
		len(c.Types)+len(c.Nodes)+len(c.NodePublications) == 0 {
		log.Warn("Exclusion regex given, but no topics to subscribe to. Adding implicit 'record all'.")
		c.All = true
	}
	if s.expect.selects {
		log.Warn("only the topics of --expect are selected: -a, or all: true in the file, selects all others, too")
	}
	program.WarnGlobLike(log, "-x", o.Select.Exclude)
	if o.Select.Regex {
		program.WarnGlobLike(log, "-e", o.Select.Topics)
	}
	if s.files.split.mib > 0 {
		log.Warn("Use of \"--split <MAX_SIZE>\" has been deprecated.  Please use --split --size <MAX_SIZE> or --split --duration <MAX_DURATION>")
	}
	if o.Retain.Files > 0 && !o.Split {
		log.Warn("--max-splits is ignored without --split")
		o.Retain.Files = 0
	}
	return o
}
