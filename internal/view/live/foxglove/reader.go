package foxglove

import (
	"context"

	"github.com/coder/websocket"

	"github.com/gorosbag/gorosbag/internal/view/live"
)

// read carries out the requests of the viewer until the connection ends.
func (s *session) read(ctx context.Context) error {
	defer s.watching.Wait()
	defer func() { s.watchGraphs(ctx, false) }()
	for {
		kind, b, err := s.conn.receive()
		switch {
		case websocket.CloseStatus(err) >= 0:
			return errViewerCloses
		case err != nil:
			return err
		case kind == websocket.MessageText:
			s.onText(ctx, b)
		case len(b) > 0:
			s.onBinary(ctx, b)
		}
	}
}

// refuseRequest tells the viewer that a request is not carried out.
func (s *session) refuseRequest(ctx context.Context, text string) {
	s.send(ctx, encodeStatus(levelError, text, ""))
}

func (s *session) onText(ctx context.Context, b []byte) {
	if len(b) == 0 {
		return
	}
	r, ok := parseRequest(b)
	if !ok {
		s.refuseRequest(ctx, invalid)
		return
	}
	switch r.Op {
	case "subscribe":
		for _, sub := range r.Subscriptions {
			if ctx.Err() != nil { // a request may name thousands of channels
				return
			}
			s.subscribe(ctx, *sub.ID, live.ChannelID(*sub.Channel))
		}
	case "unsubscribe":
		for _, id := range r.SubscriptionIDs {
			if channel, ok := s.subs.remove(id); ok {
				s.viewer.Unsubscribe(channel)
			}
		}
	case "subscribeConnectionGraph", "unsubscribeConnectionGraph":
		if s.server.source.Graph == nil {
			s.refuseRequest(ctx, noGraph)
			return
		}
		s.watchGraphs(ctx, r.Op == "subscribeConnectionGraph")
	default:
		text := refusals[r.Op]
		if text == "" {
			text = unknownOp
		}
		s.refuseRequest(ctx, text)
	}
}

func (s *session) subscribe(ctx context.Context, id uint32, channel live.ChannelID) {
	if l, text := s.subs.add(id, channel); text != "" {
		s.send(ctx, encodeStatus(l, text, ""))
		return
	}
	if s.viewer.Subscribe(channel) != nil {
		s.subs.remove(id)
		s.refuseRequest(ctx, unknownTopic)
	}
}

func (s *session) onBinary(ctx context.Context, b []byte) {
	switch b[0] {
	case opClientMessage:
		s.refuseRequest(ctx, noPublishing)
	case opServiceRequest:
		s.refuseRequest(ctx, noServices)
	case opPlaybackControl:
		c, err := parsePlaybackControl(b[1:])
		switch {
		case !s.controls():
			s.refuseRequest(ctx, noPlayback)
		case err != nil:
			s.refuseRequest(ctx, invalid)
		default:
			s.server.control(&c)
		}
	default:
		s.refuseRequest(ctx, unknownOp)
	}
}

// controls reports whether the viewer can control playback.
func (s *session) controls() bool {
	if !s.sdk || s.server.source.Playback == nil {
		return false
	}
	_, last := s.server.source.Playback.Range()
	return !last.IsZero() // zero while the bags are being opened
}

// watchGraphs starts or stops the goroutine that sends the connection graph.
func (s *session) watchGraphs(ctx context.Context, on bool) {
	switch {
	case on && s.unwatchGraph == nil:
		watch, cancel := context.WithCancel(ctx)
		s.unwatchGraph = cancel
		// owner: read; ends with watch.
		s.watching.Go(func() { s.watchGraph(watch) })
	case !on && s.unwatchGraph != nil:
		s.unwatchGraph()
		s.unwatchGraph = nil
		s.watching.Wait() // so that a viewer has one goroutine at most
	}
}
