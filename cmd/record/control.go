package main

import (
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/rosctl"
	"github.com/gorosbag/gorosbag/recorder"
)

// begin translates how the recording begins.
func begin(c *config.Record) recorder.State {
	switch {
	case c.Paused:
		return recorder.StatePaused
	case c.Stopped:
		return recorder.StateStopped
	}
	return recorder.StateRecording
}

// serve puts the control of the recording on the ROS graph.
func serve(c *config.Record, o *recorder.Options) (*rosctl.Server, error) {
	return rosctl.Serve(rosctl.Options{Node: o.Node, Control: o.Control, Log: o.Log, Pin: time.Duration(c.Pin)})
}
