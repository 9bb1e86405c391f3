package main

import (
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/recorder"
)

// checkStart returns the error with which the start would refuse to record, without a node, or an error of a directory
// to upload to.
func (s *settings) checkStart(log *zap.Logger, resolve program.Resolver) error {
	o := s.options(log)
	set, err := newTriggers(s, &o, nil, resolve)
	if err != nil {
		return err
	}
	if set != nil {
		o.Watch = set
	}
	fitMemory(&o, program.MemoryLimit("/"), 0, log)
	if err := recorder.Check(o, resolve); err != nil {
		return err
	}
	return s.upload.checkDirectory(log)
}
