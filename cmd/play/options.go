package main

import (
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/player"
)

// options translates the command line, but for the node.
func options(c *config.Play, bags []*player.Bag, log *zap.Logger) (player.Options, error) {
	o := player.Options{
		Bags: bags, Log: log,
		Rate: c.Rate, Immediate: c.Immediate, Paused: c.Pause, Loop: c.Loop.On, LoopShift: c.Loop.Shift, KeepAlive: c.KeepAlive,
		Queue: c.Queue, Delay: time.Duration(c.Delay),
		Clock: c.Clock, Hz: c.Hz, ClockTopics: c.ClockTopics, ClockPerMessage: c.ClockPerMessage,
		SkipEmpty: time.Duration(c.SkipEmpty), PauseTopics: c.PauseTopics,
		Stamps:   map[string]player.Stamps{"now": player.StampsNow, "clock": player.StampsClock}[c.Stamps],
		Overflow: map[string]player.Overflow{"drop": player.OverflowDrop, "block": player.OverflowBlock}[c.Overflow],
	}
	return o, selectionOptions(c, &o)
}
