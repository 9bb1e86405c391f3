package face

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/dustin/go-humanize"

	"github.com/gorosbag/gorosbag/internal/face/sdnotify"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Service returns the state for systemd. Calls come one at a time.
func (f *Face) Service(ctx context.Context, node *tcpros.Node) sdnotify.State {
	now, err := f.control.Stats()
	if err != nil {
		return sdnotify.State{Status: notRecording(ctx, err)}
	}
	s := sdnotify.State{Ready: node.MasterUp(), Status: statusLine(&f.service, &now)}
	if !s.Ready {
		s.Status = "waiting for the ROS master " + node.MasterURI() + "; " + s.Status
	}
	f.service = now
	return s
}

// notRecording says why there are no statistics.
func notRecording(ctx context.Context, err error) string {
	switch {
	case !errors.Is(err, control.ErrNotRecording):
		return err.Error()
	case ctx.Err() != nil:
		return "leaving the ROS graph"
	}
	return "starting"
}

// trouble says what is wrong with topics, before the rest of a line.
func trouble(s *control.Stats) string {
	if text := wrong(s); text != "" {
		return text + "; "
	}
	return ""
}

// statusLine is what systemctl status shows.
func statusLine(before, now *control.Stats) string {
	var bytes, bytesBefore uint64
	for i := range now.Topics {
		bytes += now.Topics[i].Bytes
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
	topics, _ := now.Subscribed()
	line := fmt.Sprintf("%s%s %s, %.1f MiB/s, %s lost", trouble(now), state, wording.Plural(topics, "topic"),
		rate/(1<<20), wording.Plural(now.Dropped()+now.Missed(), "message"))
	if now.File != "" {
		line += fmt.Sprintf(", %s in %s", humanize.IBytes(uint64(max(now.FileBytes, 0))),
			filepath.Base(now.File))
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
