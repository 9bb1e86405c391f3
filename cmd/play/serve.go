package main

import (
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/playface"
	"github.com/gorosbag/gorosbag/internal/program/doors"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/tcpros"
)

// serve provides the control of play on the ROS graph, unless it is switched off, until end is
// called. A failure does not end play.
func serve(c *config.Play, node *tcpros.Node, face *playface.Face, log *zap.Logger) (end func()) {
	if c.NoServices {
		return func() {}
	}
	end, err := doors.ServeGraph(node, log, face)
	if err != nil {
		log.Warn("other nodes cannot steer play", zap.Error(err))
		return func() {}
	}
	return end
}

// followRate applies --rate-control-topic. With --immediate it is ignored, as in stock.
func followRate(c *config.Play, o *player.Options, out io.Writer) error {
	if c.RateControlTopic == "" || c.Immediate {
		return nil
	}
	o.RateControl = player.NewRateControl(time.Duration(c.RateControlMaxDelay))
	if err := o.RateControl.Follow(o.Node, c.RateControlTopic, o.Log); err != nil {
		return fmt.Errorf("--rate-control-topic: %w", err)
	}
	_, err := fmt.Fprintln(out, "Creating rate control topic subscriber... done.")
	return err
}
