package main

import (
	"context"
	"time"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/recordface"
	"github.com/gorosbag/gorosbag/internal/rosctl"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// begin translates how the recording begins.
func begin(c *config.Record) control.State {
	switch {
	case c.Paused:
		return control.StatePaused
	case c.Stopped, len(c.StartOn) > 0:
		return control.StateStopped
	}
	return control.StateRecording
}

// serve puts the control of the recording on the ROS graph, unless it is not wanted
// there, and on the web, if it is wanted there, until end is called.
func serve(ctx context.Context, c *config.Record, o *recorder.Options) (end func(), err error) {
	face := recordface.New(o.Control, time.Duration(c.Pin))
	endWeb, err := serveWeb(ctx, c, o, face)
	if err != nil || c.NoServices {
		return endWeb, err
	}
	server, err := rosctl.Serve(rosctl.Options{ //nolint:contextcheck // it serves until Close
		Node: o.Node, Log: o.Log, Commands: face.Commands(), KnownBy: recordface.PauseRecording, Status: face.Status, Changed: face.Changed,
	})
	if err != nil {
		endWeb()
		return nil, err
	}
	return func() {
		server.Close()
		endWeb()
	}, nil
}
