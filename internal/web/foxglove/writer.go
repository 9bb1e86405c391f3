package foxglove

import (
	"context"
	"time"

	"github.com/coder/websocket"

	"github.com/gorosbag/gorosbag/internal/live"
)

const (
	// framesAtOnce is how many frames are written before anything else is looked at.
	framesAtOnce = 32

	// copiedBytes is the largest payload that is copied behind its header and sent in one
	// frame of WebSocket. Larger ones are sent as a frame of their own.
	copiedBytes = 64 << 10

	tick = time.Second // between two looks at what is skipped, and whether the viewer is alive
)

// writer writes to one viewer.
type writer struct {
	*session

	told    description
	buffer  []byte // of the binary message that is written
	wroteAt time.Time
	pinged  time.Time // when a ping was sent that was not answered; zero if there is none
	skips   skips
	state   live.PlaybackState // as it was sent last; its time does not count
}

func newWriter(s *session, info *live.Info) *writer {
	w := &writer{session: s, told: newDescription()}
	w.told.session = info.Session
	return w
}

// skips knows whether the viewer is told that messages are skipped.
type skips struct {
	counted  uint64 // those that were seen
	at       time.Time
	told     bool
	tooLarge bool // the viewer was told of a message that is too large
}

// closedChannel is always ready.
var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }() //nolint:gochecknoglobals // a constant, but for the language

// run writes until ctx ends or the viewer cannot be written to.
func (w *writer) run(ctx context.Context) error {
	store, playback := w.server.source.Store, w.server.source.Playback
	changed := store.Changed()
	info := w.server.source.Info()
	if err := w.greet(&info); err != nil {
		return err
	}
	var played <-chan struct{}
	if w.controls() {
		played = playback.Changed()
		if err := w.tellState("", false); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var more <-chan struct{} // ready while there are frames
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			changed = store.Changed()
			err = w.describe()
		case <-played:
			played = playback.Changed()
			err = w.tellChange()
		case <-w.answers.wake:
			err = w.answerAll()
		case message := <-w.control:
			err = w.text(message)
		case <-ticker.C:
			err = w.look()
		case <-w.viewer.Ready():
			more = closedChannel
		case <-more:
			var left bool
			if left, err = w.frames(); !left {
				more = nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// controls reports whether the viewer can control playback.
func (w *writer) controls() bool { return w.sdk && w.server.source.Playback != nil }

// greet sends what a viewer must know first.
func (w *writer) greet(info *live.Info) error {
	if err := w.text(encode(w.serverInfo(info))); err != nil {
		return err
	}
	_, fresh := w.told.update(w.server.source.Store.Channels())
	for _, message := range encodeAdvertise(fresh) {
		if err := w.text(message); err != nil {
			return err
		}
	}
	return w.tellNotices()
}

func (w *writer) serverInfo(info *live.Info) serverInfo {
	i := serverInfo{Op: "serverInfo", Name: info.Name, Capabilities: []string{}, SessionID: info.Session}
	if info.Distro != "" {
		i.Metadata = map[string]string{"ROS_DISTRO": info.Distro}
	}
	if info.Clock {
		i.Capabilities = append(i.Capabilities, "time")
	}
	if w.server.source.Graph != nil {
		i.Capabilities = append(i.Capabilities, "connectionGraph")
	}
	if w.controls() {
		first, last := w.server.source.Playback.Range()
		i.Capabilities = append(i.Capabilities, "playbackControl")
		i.DataStart, i.DataEnd = stampOf(first), stampOf(last)
	}
	return i
}

// describe tells the viewer what has changed in the source.
func (w *writer) describe() error {
	if info := w.server.source.Info(); info.Session != w.told.session {
		for id := range w.told.channels {
			w.drop(id)
		}
		w.told = newDescription()
		w.told.session = info.Session
		return w.greet(&info) // the viewer begins anew
	}
	gone, fresh := w.told.update(w.server.source.Store.Channels())
	for _, id := range gone {
		w.drop(id)
	}
	if len(gone) > 0 {
		if err := w.text(encodeUnadvertise(gone)); err != nil {
			return err
		}
	}
	if len(fresh) > 0 {
		for _, message := range encodeAdvertise(fresh) {
			if err := w.text(message); err != nil {
				return err
			}
		}
	}
	return w.tellNotices()
}

// drop ends the subscription to a channel, which the viewer is told to forget.
func (w *writer) drop(id live.ChannelID) {
	w.subs.removeChannel(id)
	w.viewer.Unsubscribe(id)
}

func (w *writer) tellNotices() error {
	for _, message := range w.told.updateNotices(w.server.source.Store.Notices()) {
		if err := w.text(message); err != nil {
			return err
		}
	}
	return nil
}

// frames writes frames, and reports whether there may be more.
func (w *writer) frames() (more bool, err error) {
	for range framesAtOnce {
		f, ok := w.viewer.Take()
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
		return w.binary(appendTime(w.buffer[:0], f.Time))
	case live.Jump:
		request := w.server.seek.answered(f.Jumps)
		if w.controls() {
			w.state = w.server.source.Playback.State()
			at := w.state
			at.Time = f.Time
			if err := w.binary(appendState(w.buffer[:0], at, true, request)); err != nil {
				return err
			}
		}
		return w.binary(appendTime(w.buffer[:0], f.Time))
	case live.Message:
	}
	id, ok := w.subs.of(f.Channel)
	if !ok {
		return nil // unsubscribed in the meantime
	}
	header := appendMessageHeader(w.buffer[:0], id, f.Time)
	if len(f.Payload) <= copiedBytes {
		return w.binary(append(header, f.Payload...))
	}
	w.buffer = header
	return w.large(header, f.Payload)
}

// binary writes a binary message, and keeps its memory for the next one.
func (w *writer) binary(b []byte) error {
	w.buffer = b
	w.busy.Store(true)
	defer w.busy.Store(false)
	w.wroteAt = time.Now()
	return w.ws.Write(context.Background(), websocket.MessageBinary, b) // the wire has deadlines
}

// large writes a message without copying its payload.
func (w *writer) large(header, payload []byte) error {
	w.busy.Store(true)
	defer w.busy.Store(false)
	w.wroteAt = time.Now()
	to, err := w.ws.Writer(context.Background(), websocket.MessageBinary)
	if err != nil {
		return err
	}
	if _, err := to.Write(header); err != nil {
		return err
	}
	if _, err := to.Write(payload); err != nil {
		return err
	}
	return to.Close()
}

func (w *writer) text(b []byte) error {
	w.wroteAt = time.Now()
	return w.writeText(b)
}

// tellState sends the state of playback. request is the ID of the request that it answers.
func (w *writer) tellState(request string, didSeek bool) error {
	w.state = w.server.source.Playback.State()
	return w.binary(appendState(w.buffer[:0], w.state, didSeek, request))
}

// tellChange sends the state of playback if it is another one than before.
func (w *writer) tellChange() error {
	now := w.server.source.Playback.State()
	if now.Status == w.state.Status && now.Speed == w.state.Speed { //nolint:gosec // exactly what was sent
		return nil
	}
	return w.tellState("", false)
}

// answerAll answers requests for playback.
func (w *writer) answerAll() error {
	for _, id := range w.answers.takeAll() {
		if !w.controls() {
			continue
		}
		if err := w.tellState(id, false); err != nil {
			return err
		}
	}
	return nil
}

// look tells the viewer of skipped messages, and gives up a viewer that does not answer.
func (w *writer) look() error {
	if err := w.tellSkips(time.Now()); err != nil {
		return err
	}
	silence := w.wire.silence()
	switch {
	case w.pinged.IsZero():
		if silence < w.server.timing.ping || time.Since(w.wroteAt) < w.server.timing.ping {
			return nil
		}
		w.pinged = time.Now()
		return w.wire.ping()
	case silence < time.Since(w.pinged):
		w.pinged = time.Time{}
	case time.Since(w.pinged) > w.server.timing.stalled:
		return errStalled
	}
	return nil
}

// tellSkips warns once when messages are skipped, and takes the warning back when none were for a
// while.
func (w *writer) tellSkips(now time.Time) error {
	stats := w.viewer.Stats()
	k := &w.skips
	if stats.TooLarge > 0 && !k.tooLarge {
		k.tooLarge = true
		if err := w.text(encodeStatus(levelWarning, tooLargeText, tooLargeID)); err != nil {
			return err
		}
	}
	slow := stats.Skipped - stats.TooLarge
	switch {
	case slow != k.counted:
		k.counted, k.at = slow, now
		if !k.told {
			k.told = true
			return w.text(encodeStatus(levelWarning, skippingText, skippingID))
		}
	case k.told && now.Sub(k.at) >= w.server.timing.skipping:
		k.told = false
		return w.text(encodeRemoveStatus(skippingID))
	}
	return nil
}
