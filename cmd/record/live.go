package main

import (
	"github.com/gorosbag/gorosbag/recorder"
)

// viewersShare is the part of a memory limit that copies of messages for viewers may take, if the
// limit is low.
const viewersShare = 8

// tapMessages shows the messages to live viewers, if there is a web server for them. It returns the
// memory that their copies may take. limit is the memory limit of this process.
func tapMessages(s *settings, o *recorder.Options, limit int64) (memory int64) {
	if s.Web.Listen == "" {
		return 0
	}
	memory = min(recorder.DefaultTapMemory, limit/viewersShare)
	o.Tap = recorder.NewTap(recorder.TapOptions{
		Name: "gorecord " + o.Node.Name(), Memory: memory, Graph: o.Node.Master().SystemState,
	})
	return memory
}
