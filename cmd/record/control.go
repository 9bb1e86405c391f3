package main

import (
	"context"

	"github.com/gorosbag/gorosbag/internal/rosctl"
	"github.com/gorosbag/gorosbag/recorder"
)

// serve puts the control of the recording on the ROS graph, unless it is not wanted
// there, and on the web, if it is wanted there, until end is called.
func serve(ctx context.Context, s *settings, o *recorder.Options) (end func(), err error) {
	endWeb, err := serveWeb(ctx, s, o)
	if err != nil || s.control.noServices {
		return endWeb, err
	}
	server, err := rosctl.ServeRecord(rosctl.RecordOptions{Node: o.Node, Control: o.Control, Log: o.Log, Pin: s.disk.pin}) //nolint:contextcheck // it serves until Close
	if err != nil {
		endWeb()
		return nil, err
	}
	return func() {
		server.Close()
		endWeb()
	}, nil
}
