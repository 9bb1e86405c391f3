// Package player publishes the messages of bags again: in their original order, with their
// original timing, on their original topics, latched as by each original publisher.
//
// A reader goroutine merges the bags and reads ahead. The pacer, on a thread of its own,
// waits for the deadline of each message and passes its frame, which is a slice of the bag,
// to the publication. Each subscriber has a queue, so that a slow one does not delay the
// others. A front end controls play through Control.
package player

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/follow"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Run plays until the last message, or forever with Loop or KeepAlive, or until ctx ends,
// which is no error. The Summary lists what could not be played. Run returns ErrNoMessages
// when there is nothing to play. The node stays open; it is drained unless ctx ended.
func Run(ctx context.Context, o Options) (control.Summary, error) {
	o, err := o.withDefaults()
	if err != nil {
		return control.Summary{}, err
	}
	t, err := timeBaseOf(&o)
	if err != nil {
		return control.Summary{}, err
	}
	defer t.End()
	if o.NewNode == nil {
		return play(ctx, &o, stage.OneNode{Node: o.Node}, t)
	}
	g := stage.NewManyNodes(o.Node, o.NewNode, o.Log)
	defer g.Close() //nolint:contextcheck // the nodes leave the graph after ctx has ended, too
	return play(ctx, &o, g, t)
}

// play is Run with a given graph and time.
func play(ctx context.Context, o *Options, g stage.Graph, t follow.TimeBase) (control.Summary, error) {
	p, err := abandonablePlan(ctx, o, planOf(o, true), g.Resolve)
	damage := source.NewDamageLog(o.Log)
	switch {
	case ctx.Err() != nil:
		return control.Summary{Interrupted: true}, nil
	case errors.Is(err, plan.ErrNoMessages) && len(p.Damage) > 0: // the messages may have been there
		damage.ReportAll(p.Damage)
		return control.Summary{Damage: damage.Found(), RebuiltIndexes: damage.RebuiltIndexes()}, nil
	case err != nil:
		return control.Summary{}, err
	}
	awaited, err := check(p, g.Resolve, o)
	if err != nil {
		return control.Summary{}, err
	}
	if err := g.Publishers(ctx, p.Callers()); err != nil {
		if ctx.Err() != nil {
			return control.Summary{Interrupted: true}, nil
		}
		return control.Summary{}, err
	}
	block := tcpros.OverflowDrop
	if o.Overflow == OverflowBlock {
		block = tcpros.OverflowBlock
	}
	c := newConductor(o, p, damage, t, awaited)
	c.output.Advertise(g, tcpros.AdvertiseOptions{QueueFrames: o.Queue, Overflow: block, Freed: t.Wake})
	defer c.output.Close()
	r := &run{o: o, graph: g, plan: p, conductor: c}
	if o.RateControl != nil {
		o.RateControl.Attach(t.Wake)
	}
	damage.ReportAll(p.Damage)
	if o.Clock {
		if err := c.output.AdvertiseClock(g, o.Immediate); err != nil {
			return control.Summary{}, fmt.Errorf("clock: %w", err)
		}
	}
	return r.perform(ctx)
}

// abandonablePlan makes the plan in a goroutine. If a read does not return, it returns soon
// after ctx has ended and abandons the goroutine with its plan.
func abandonablePlan(ctx context.Context, o *Options, what plan.Options,
	resolve func(string) (string, error),
) (*plan.Plan, error) {
	var made *plan.Plan // made and failed are not read unless done is closed
	var failed error
	done := make(chan struct{})
	// owner: abandonablePlan; ends when everything is read, or with ctx.
	go func() {
		defer close(done)
		made, failed = plan.New(ctx, what, o.Bags, resolve)
	}()
	select {
	case <-done:
		return made, failed
	case <-ctx.Done():
		awaitReader(done, o.Log)
		return nil, ctx.Err()
	}
}
