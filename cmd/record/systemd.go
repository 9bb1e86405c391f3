package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/sdnotify"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// notifySystemd reports to systemd, if that has started us, until end is called.
func notifySystemd(ctx context.Context, o *recorder.Options) (end func()) {
	before := control.Stats{Taken: time.Now()}
	end, err := sdnotify.Watch(ctx, func() sdnotify.State {
		now, err := o.Control.Stats()
		if err != nil {
			return sdnotify.State{Status: notRecording(err, ctx)}
		}
		s := sdnotify.State{Ready: o.Node.MasterUp(), Status: statusLine(&before, &now)}
		if !s.Ready {
			s.Status = "waiting for the ROS master " + o.Node.MasterURI() + "; " + s.Status
		}
		before = now
		return s
	})
	if err != nil {
		o.Log.Warn("systemd hears nothing of us", zap.Error(err))
	}
	return end
}

func notRecording(err error, ctx context.Context) string { //nolint:revive // what the error means depends on it
	switch {
	case !errors.Is(err, control.ErrNotRecording):
		return err.Error()
	case ctx.Err() != nil:
		return "leaving the ROS graph"
	}
	return "starting"
}

// statusLine is what systemctl status shows.
func statusLine(before, now *control.Stats) string {
	var bytes, lost, bytesBefore uint64
	for i := range now.Topics {
		t := &now.Topics[i]
		bytes += t.Bytes
		lost += t.Dropped + t.Missed
	}
	for i := range before.Topics {
		bytesBefore += before.Topics[i].Bytes
	}
	rate := 0.0
	if d := now.Taken.Sub(before.Taken).Seconds(); d > 0 && bytes >= bytesBefore {
		rate = float64(bytes-bytesBefore) / d
	}
	state := now.State.String()
	if now.Ending {
		state = "closing"
	}
	line := fmt.Sprintf("%s %s, %.1f MiB/s, %s lost", state, plural.Of(len(now.Topics), "topic"), rate/(1<<20), plural.Of(lost, "message"))
	if now.File != "" {
		line += fmt.Sprintf(", %s in %s", humanize.IBytes(uint64(max(now.FileBytes, 0))), filepath.Base(now.File))
	}
	if h := now.Handover; h != nil {
		switch h.State {
		case control.HandoverOK:
		case control.HandoverUnchecked:
			line += ", store unchecked"
		case control.HandoverUnreachable, control.HandoverFailing:
			line += fmt.Sprintf(", store %v: %s", h.State, h.StateErr)
		}
	}
	return line
}
