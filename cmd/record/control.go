package main

import (
	"context"

	"github.com/gorosbag/gorosbag/cmd/record/internal/face"
	"github.com/gorosbag/gorosbag/internal/program/doors"
	"github.com/gorosbag/gorosbag/recorder"
)

// serve puts the control of the recording on the ROS graph, unless it is not wanted
// there, and on the web, if it is wanted there, until end is called.
func serve(ctx context.Context, s *settings, o *recorder.Options, ui *face.Face) (end func(), err error) {
	endWeb, err := doors.ServeWeb(ctx, &s.Web, o.Node, o.Log, ui, o.Tap.Source())
	if err != nil || s.control.noServices {
		return endWeb, err
	}
	endGraph, err := doors.ServeGraph(o.Node, o.Log, ui) //nolint:contextcheck // it serves until its end
	if err != nil {
		endWeb()
		return nil, err
	}
	return func() {
		endGraph()
		endWeb()
	}, nil
}
