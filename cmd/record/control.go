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

// serve puts the control of the recording on the ROS graph, unless it is not wanted
// there, until end is called.
func serve(c *config.Record, o *recorder.Options) (end func(), err error) {
	if c.NoServices {
		return func() {}, nil
	}
	server, err := rosctl.Serve(rosctl.Options{Node: o.Node, Control: o.Control, Log: o.Log, Pin: time.Duration(c.Pin)})
	if err != nil {
		return nil, err
	}
	return server.Close, nil
}
