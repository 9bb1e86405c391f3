package simtime

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// patience is how long a recording waits for the first time of the clock before it warns, as stock does.
const patience = 2 * time.Second

// param says whether the graph has a clock of its own.
const param = "/use_sim_time"

// Find asks the master whether the graph has a clock of its own, and returns that clock; nil for the wall
// clock. away means that the master did not answer: the recording then goes by the wall clock.
func Find(ctx context.Context, n *tcpros.Node) (sim *Sim, away bool, err error) {
	value, _, err := n.Master().Param(ctx, param)
	if err != nil {
		return nil, true, nil //nolint:nilerr // away reports it
	}
	if value != true {
		return nil, false, nil
	}
	sim, err = subscribe(n)
	return sim, false, err
}

// ErrNoTime says that the clock of the graph has never had a time.
var ErrNoTime = errors.New("the recording has not begun, and there is no bag: the parameter /use_sim_time is true, and no time but zero came on /clock")

// Await waits for the first time of the clock. It returns ErrNoTime if ctx ends before.
func (c *Sim) Await(ctx context.Context, log *zap.Logger) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case <-c.begun:
			return nil
		case <-late.C:
			log.Warn("/use_sim_time set to true and no clock published.  Still waiting for valid time...")
		case <-ctx.Done():
			return ErrNoTime
		}
	}
}

// FindLate asks a master that was away at the start whether the graph has a clock of its own, as soon
// as the master answers, and logs an error if it has: by then it is too late to use the clock.
func FindLate(ctx context.Context, n *tcpros.Node, log *zap.Logger) {
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
		value, _, err := n.Master().Param(ctx, param)
		if err != nil {
			continue
		}
		if value == true {
			log.Error("the master came after the start and has /use_sim_time: messages are stamped with the wall clock; record again for stamps of /clock", zap.String("topic", Topic))
		}
		return
	}
}
