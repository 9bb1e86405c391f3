package main

import (
	"fmt"
	"io"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/cmd/play/internal/face"
	"github.com/gorosbag/gorosbag/internal/program/doors"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/tcpros"
)

// serve provides the control of play on the ROS graph, unless it is switched off, until end is
// called. A failure does not end play.
func serve(s *settings, node *tcpros.Node, ui *face.Face, log *zap.Logger) (end func()) {
	if s.control.noServices {
		return func() {}
	}
	end, err := doors.ServeGraph(node, log, ui)
	if err != nil {
		log.Warn("other nodes cannot steer play", zap.Error(err))
		return func() {}
	}
	return end
}

// followRate applies --rate-control-topic. With --immediate it is ignored, as in stock.
func followRate(s *settings, o *player.Options, out io.Writer) error {
	if s.pace.rateTopic == "" || o.Immediate {
		return nil
	}
	o.RateControl = player.NewRateControl(s.pace.rateMaxLead)
	if err := o.RateControl.Follow(o.Node, s.pace.rateTopic, o.Log); err != nil {
		return fmt.Errorf("--rate-control-topic: %w", err)
	}
	_, err := fmt.Fprintln(out, "Creating rate control topic subscriber... done.")
	return err
}
