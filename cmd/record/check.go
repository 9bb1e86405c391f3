package main

import (
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/recorder"
)

// checkStart returns the error with which the start would refuse to record, without a node, or an error
// of a directory to upload to. Nothing is written, and no store is asked.
func (s *settings) checkStart(log *zap.Logger, resolve program.Resolver) error {
	o := s.options(log)
	if err := s.checkOptions(&o, resolve); err != nil {
		return err
	}
	if err := recorder.CheckOutput(o); err != nil {
		return err
	}
	return s.upload.check(log)
}

// checkOptions returns the error with which the start would refuse the options, wherever the bag is to
// be, and fits o to the memory.
func (s *settings) checkOptions(o *recorder.Options, resolve program.Resolver) error {
	set, err := newTriggers(s, o, nil, resolve)
	if err != nil {
		return err
	}
	fitMemory(o, program.MemoryLimit("/"), 0, o.Log)
	checked := *o
	if set != nil {
		checked.Watch = set
	}
	return recorder.Check(checked, resolve)
}
