package foxglove

import (
	"bytes"
	"context"
	"time"

	"github.com/gorosbag/gorosbag/internal/view/live"
)

const (
	// framesAtOnce is the number of frames that are written before the writer checks for other work.
	framesAtOnce = 32

	tick = time.Second // interval of the checks for skipped messages and for a viewer that does not answer
)

// writer writes to one viewer.
type writer struct {
	s      *session
	source *live.Source
	conn   *conn
	told   description
	pinged time.Time // when a ping was sent that was not answered; zero if there is none
	skips  skips
	state  live.PlaybackState // the state that was sent last; changes of its time are ignored
}

func newWriter(s *session, info *live.Info) *writer {
	w := &writer{s: s, source: &s.server.source, conn: s.conn, told: newDescription()}
	w.told.session = info.Session
	return w
}

// skips is the state of the warning that messages are skipped.
type skips struct {
	counted  uint64    // skipped messages at the last check, without those that are too large
	at       time.Time // when counted last grew
	told     bool      // the viewer shows the warning
	tooLarge bool      // the viewer was warned of a message that is too large
}

// closedChannel is always ready.
var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// run writes until ctx ends or the viewer cannot be written to.
func (w *writer) run(ctx context.Context) error {
	store, playback := w.source.Store, w.source.Playback
	changed := store.Changed()
	info := w.source.Info()
	if err := w.greet(&info); err != nil {
		return err
	}
	var played <-chan struct{}
	if playback != nil {
		played = playback.Changed()
		if err := w.tellChange(); err != nil {
			return err
		}
	}
	if err := w.conn.wire.flush(); err != nil {
		return err
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var more <-chan struct{} // ready while there are frames
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
			changed = store.Changed()
			if err = w.describe(); err == nil {
				err = w.tellChange()
			}
		case <-played:
			played = playback.Changed()
			err = w.tellChange()
		case <-w.s.answers.wake:
			err = w.answerAll()
		case message := <-w.s.control:
			err = w.conn.text(message)
		case <-ticker.C:
			err = w.look()
		case <-w.conn.wire.dirty: // a ping was answered
		case <-w.s.viewer.Ready():
			more = closedChannel
		case <-more:
			var left bool
			if left, err = w.frames(); !left {
				more = nil
			}
		}
		if err == nil {
			err = w.conn.wire.flush()
		}
		if err != nil {
			return err
		}
	}
}

// greet sends the server info, the channels and the notices.
func (w *writer) greet(info *live.Info) error {
	if err := w.tellInfo(info); err != nil {
		return err
	}
	_, fresh := w.told.update(w.source.Store.Channels())
	for _, message := range encodeAdvertise(fresh) {
		if err := w.conn.text(message); err != nil {
			return err
		}
	}
	return w.tellNotices()
}

// tellInfo sends the server info if it differs from the info that was sent last.
func (w *writer) tellInfo(info *live.Info) error {
	message := encode(w.serverInfo(info))
	if bytes.Equal(message, w.told.info) {
		return nil
	}
	w.told.info = message
	w.s.viewer.FollowClock(info.Clock)
	return w.conn.text(message)
}

func (w *writer) serverInfo(info *live.Info) serverInfo {
	i := serverInfo{
		Op: "serverInfo", Name: info.Name, Capabilities: []string{}, SessionID: info.Session,
		Metadata: map[string]string{"ROS_DISTRO": distro},
	}
	if info.Clock {
		i.Capabilities = append(i.Capabilities, "time")
	}
	if w.source.Graph != nil {
		i.Capabilities = append(i.Capabilities, "connectionGraph")
	}
	if w.s.controls() {
		first, last := w.source.Playback.Range()
		i.Capabilities = append(i.Capabilities, "playbackControl")
		i.DataStart, i.DataEnd = stampOf(first), stampOf(last)
	}
	return i
}

// describe sends the changes of the source.
func (w *writer) describe() error {
	info := w.source.Info()
	if info.Session != w.told.session {
		for id := range w.told.channels {
			w.drop(id)
		}
		w.told = newDescription()
		w.told.session = info.Session
		return w.greet(&info) // the viewer begins anew
	}
	if err := w.tellInfo(&info); err != nil {
		return err
	}
	gone, fresh := w.told.update(w.source.Store.Channels())
	for _, id := range gone {
		w.drop(id)
	}
	if len(gone) > 0 {
		if err := w.conn.text(encodeUnadvertise(gone)); err != nil {
			return err
		}
	}
	if len(fresh) > 0 {
		for _, message := range encodeAdvertise(fresh) {
			if err := w.conn.text(message); err != nil {
				return err
			}
		}
	}
	return w.tellNotices()
}

// drop ends the subscription to a channel, and tells the viewer to remove the channel.
func (w *writer) drop(id live.ChannelID) {
	w.s.subs.removeChannel(id)
	w.s.viewer.Unsubscribe(id)
}

func (w *writer) tellNotices() error {
	for _, message := range w.told.updateNotices(w.source.Store.Notices()) {
		if err := w.conn.text(message); err != nil {
			return err
		}
	}
	return nil
}

// frames writes frames, and reports whether there may be more.
func (w *writer) frames() (more bool, err error) {
	for range framesAtOnce {
		if w.conn.wire.ending.Load() { // the time that is left is for the farewell
			return true, nil
		}
		f, ok := w.s.viewer.Take()
		if !ok {
			return false, nil
		}
		if err := w.frame(&f); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (w *writer) frame(f *live.Frame) error {
	switch f.Kind {
	case live.Clock:
		return w.conn.binary(appendTime(w.conn.space(), f.Time))
	case live.Jump:
		request := w.s.server.seek.answered(f.Jumps)
		if w.s.controls() {
			w.state = w.source.Playback.State()
			at := w.state
			at.Time = f.Time
			if err := w.conn.binary(appendState(w.conn.space(), at, true, request)); err != nil {
				return err
			}
		}
		return w.conn.binary(appendTime(w.conn.space(), f.Time))
	case live.Message:
	}
	id, ok := w.s.subs.of(f.Channel)
	if !ok {
		return nil // unsubscribed in the meantime
	}
	return w.conn.message(appendMessageHeader(w.conn.space(), id, f.Time), f.Payload)
}

// tellState sends the state of playback. request is the ID of the request that it answers.
func (w *writer) tellState(request string, didSeek bool) error {
	w.state = w.source.Playback.State()
	return w.conn.binary(appendState(w.conn.space(), w.state, didSeek, request))
}

// tellChange sends the state of playback to a viewer that can control playback, if the state differs from the
// state that was sent last.
func (w *writer) tellChange() error {
	if !w.s.controls() {
		return nil
	}
	now := w.source.Playback.State()
	if now.Status == w.state.Status && now.Speed == w.state.Speed { // the speeds are copies: no rounding
		return nil
	}
	return w.tellState("", false)
}

// answerAll answers requests for playback.
func (w *writer) answerAll() error {
	for _, id := range w.s.answers.takeAll() {
		if !w.s.controls() {
			continue
		}
		if err := w.tellState(id, false); err != nil {
			return err
		}
	}
	return nil
}

// look warns the viewer of skipped messages, and disconnects a viewer that does not answer.
func (w *writer) look() error {
	if err := w.tellSkips(time.Now()); err != nil {
		return err
	}
	silence := w.conn.wire.silence()
	switch {
	case w.pinged.IsZero():
		if silence < w.s.server.timing.ping || time.Since(w.conn.sentAt) < w.s.server.timing.ping {
			return nil
		}
		w.pinged = time.Now()
		return w.conn.wire.ping()
	case silence < time.Since(w.pinged):
		w.pinged = time.Time{}
	case time.Since(w.pinged) > w.s.server.timing.stalled:
		return errStalled
	}
	return nil
}

// tellSkips warns the viewer once when messages are skipped, and removes the warning when no message was
// skipped for timing.skipping.
func (w *writer) tellSkips(now time.Time) error {
	stats := w.s.viewer.Stats()
	k := &w.skips
	if stats.TooLarge > 0 && !k.tooLarge {
		k.tooLarge = true
		if err := w.conn.text(encodeStatus(levelWarning, tooLargeText, tooLargeID)); err != nil {
			return err
		}
	}
	slow := stats.Skipped - stats.TooLarge
	switch {
	case slow != k.counted:
		k.counted, k.at = slow, now
		if !k.told {
			k.told = true
			return w.conn.text(encodeStatus(levelWarning, skippingText, skippingID))
		}
	case k.told && now.Sub(k.at) >= w.s.server.timing.skipping:
		k.told = false
		return w.conn.text(encodeRemoveStatus(skippingID))
	}
	return nil
}
