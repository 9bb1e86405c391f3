package main

import (
	"context"

	"github.com/gorosbag/gorosbag/internal/recordface"
	"github.com/gorosbag/gorosbag/internal/rosctl"
	"github.com/gorosbag/gorosbag/recorder"
)

// serve puts the control of the recording on the ROS graph, unless it is not wanted
// there, and on the web, if it is wanted there, until end is called.
func serve(ctx context.Context, s *settings, o *recorder.Options) (end func(), err error) {
	face := recordface.New(o.Control, s.disk.pin)
	endWeb, err := serveWeb(ctx, s, o, face)
	if err != nil || s.control.noServices {
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
