package main

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/cmd/play/internal/screen"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/player/control"
)

const (
	progressEvery = 10 * time.Second
	// changeDelay is the time in which changes share one line: a key that is held down causes many changes.
	changeDelay = 200 * time.Millisecond
)

// eventLog logs changes and the progress of play.
type eventLog struct {
	control control.Control
	log     *zap.Logger
	changes *zap.Logger // for changes, which any node may cause at any rate: its lines are limited
	screen  bool        // there is a screen: log bookmarks only
	resume  string      // how to continue play that begins paused
}

func newEventLog(control control.Control, log *zap.Logger, screen bool, resume string) *eventLog {
	return &eventLog{
		control: control, log: log, changes: log.With(loglimit.OnRequest()), screen: screen,
		resume: resume,
	}
}

// run logs until ctx is done.
func (n *eventLog) run(ctx context.Context) {
	progress := time.NewTicker(progressEvery)
	defer progress.Stop()
	last := n.control.Status()
	logged, phase := last.Position, control.PhaseRegister
	for {
		changed := n.control.Changed()
		now := n.control.Status()
		n.logBegin(phase, &now)
		phase = now.Phase
		n.logChanges(&last, &now)
		last = now
		select {
		case <-changed:
			pause(ctx, changeDelay)
		case <-progress.C:
			if s := n.control.Stats(); !n.screen && s.Phase == control.PhasePlay && s.Position != logged {
				n.progress(&s)
				logged = s.Position
			}
		case <-ctx.Done():
			return
		}
	}
}

// pause returns after d, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// progress logs the position, in stock's words.
func (n *eventLog) progress(s *control.Stats) {
	fields := []zap.Field{
		zap.Float64("rate", s.Rate),
		zap.Float64("achieved", float64(int(s.Achieved()*100))/100),
	}
	if dropped := s.Dropped(); dropped > 0 {
		fields = append(fields, zap.Uint64("dropped", dropped))
	}
	if len(s.WaitingFor) > 0 {
		fields = append(fields, zap.Strings("waiting for", s.WaitingFor))
	}
	n.log.Info(screen.Progress(&s.Status), fields...)
}

// logBegin logs that play begins paused after the phase before. Without that line play without a
// screen seems to hang.
func (n *eventLog) logBegin(before control.Phase, now *control.Status) {
	if before < control.PhasePlay && now.Phase == control.PhasePlay && now.Paused && !n.screen {
		n.log.Info("begins paused", at(now.Position), zap.String("continue with", n.resume))
	}
}

// logChanges logs the differences between two states.
func (n *eventLog) logChanges(last, now *control.Status) {
	for _, b := range now.Bookmarks[min(len(last.Bookmarks), len(now.Bookmarks)):] {
		n.changes.Info("bookmark", at(b))
	}
	// Play may have ended since: the log must not say that play continues after it was stopped.
	if n.screen || now.Phase > control.PhaseKeepAlive {
		return
	}
	if now.Seeks != last.Seeks {
		n.changes.Info("moved", at(now.Position))
	}
	if now.Pass != last.Pass {
		n.changes.Info("playing again", zap.Int("pass", now.Pass+1))
	}
	if now.Rate != last.Rate {
		n.changes.Info("rate changed", zap.Float64("rate", now.Rate))
	}
	if now.Loop != last.Loop || now.LoopFrom != last.LoopFrom || now.LoopTo != last.LoopTo {
		n.changes.Info("loop changed", zap.Bool("on", now.Loop), zap.Duration("from", now.LoopFrom),
			zap.Duration("to", now.LoopTo))
	}
	if now.PauseOnTopics != last.PauseOnTopics {
		n.changes.Info("pausing on topics changed", zap.Bool("on", now.PauseOnTopics))
	}
	if behind, was := now.Delayed > 0, last.Delayed > 0; behind != was {
		n.changes.Info("delayed by rate control", zap.Bool("on", behind), at(now.Position))
	}
	switch {
	case now.Paused && !last.Paused && now.PausedBy != "":
		n.changes.Info("paused", at(now.Position), zap.String("before topic", now.PausedBy))
	case now.Paused && !last.Paused:
		n.changes.Info("paused", at(now.Position))
	case last.Paused && !now.Paused:
		n.changes.Info("going on", at(now.Position))
	}
}

func at(position time.Duration) zap.Field {
	return zap.Duration("position", position.Round(time.Microsecond))
}
