package viewing

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// lengthBytes is the length before each message in a run.
const lengthBytes = 4

// blockBytes is how much of a run is copied into one block of memory. A block is freed when no viewer
// needs any message in it.
const blockBytes = 16 << 10

// link passes the messages of one publisher on and shows them. It implements tcpros.LostSink.
//
// The link first sets last, and then puts the message into the feed if viewers want it. A viewer first
// subscribes to the feed, and then takes last. So a viewer that subscribes at the same moment gets the
// message at least once; the store leaves out the second copy.
type link struct {
	tcpros.LinkSink
	tap      *Tap
	topic    string
	latching bool
	feed     atomic.Pointer[live.Feed] // nil if viewers do not see the type of the messages
	last     latest                    // message of a latching publisher
	notKept  atomic.Bool               // last has no room for the latest message
	tooLarge atomic.Bool               // a message was too large for viewers
	large    largeFrame                // the large message that arrives
}

// wanted returns the feed of the link if viewers want its messages, and otherwise nil.
func (l *link) wanted() *live.Feed {
	if f := l.feed.Load(); f != nil && f.Wanted() {
		return f
	}
	return nil
}

// Frames implements tcpros.LinkSink.
func (l *link) Frames(run []byte, count int, received time.Time) {
	l.LinkSink.Frames(run, count, received)
	switch feed := l.wanted(); {
	case feed != nil:
		l.show(feed, run, count, received)
	case l.latching:
		payload := rosbag.LastFrame(run)[lengthBytes:]
		at, _ := l.stamp(received)
		l.setKept(l.last.set(at, payload, &l.tap.latched))
		// a viewer has subscribed in the meantime, and may have taken the message before
		if feed := l.wanted(); feed != nil {
			feed.Put(at, slices.Clone(payload), 0)
		}
	}
}

// stamp returns the time of the last message of a run in the bag, and the distance between the times of the
// messages of a run.
func (l *link) stamp(received time.Time) (last rosbag.Time, step time.Duration) {
	if c := l.tap.clock.Load(); c != nil {
		return rosbag.TimeOf((*c).At(received)), (*c).Step()
	}
	return rosbag.TimeOf(received), 1
}

// show copies a run block by block and puts its messages into a feed.
func (l *link) show(feed *live.Feed, run []byte, count int, received time.Time) {
	at, step := l.stamp(received)
	at = at.Add(-step * time.Duration(count-1))
	for len(run) > 0 {
		end := rosbag.FrameLen(run)
		for end < len(run) && end+rosbag.FrameLen(run[end:]) <= blockBytes {
			end += rosbag.FrameLen(run[end:])
		}
		block := slices.Clone(run[:end])
		run = run[end:]
		for frame := range rosbag.Frames(block) {
			payload := frame[lengthBytes:]
			if count--; l.latching && count == 0 { // before Put, see link
				l.setKept(l.last.set(at, payload, &l.tap.latched))
			}
			feed.Put(at, payload, 0)
			at = at.Add(step)
		}
	}
}

// setKept notes whether the latest message of a latching publisher is kept.
func (l *link) setKept(kept bool) {
	if l.notKept.Load() == !kept {
		return
	}
	l.notKept.Store(!kept)
	l.tap.updateNotice(l.topic)
}

// hide notes that the latest message is not shown: there is no memory for it.
func (l *link) hide() {
	if !l.tooLarge.Swap(true) {
		l.tap.updateNotice(l.topic)
	}
	if l.latching {
		l.last.drop(&l.tap.latched)
		l.setKept(false)
	}
}

// Large implements tcpros.LargeSink.
func (l *link) Large(size int) tcpros.LargeFrame {
	frame := tcpros.LargeOf(l.LinkSink, size)
	switch {
	case l.wanted() == nil && !l.latching:
		return frame
	case int64(size) > l.tap.largest:
		l.hide()
		return frame
	}
	l.large = largeFrame{link: l, frame: frame}
	return &l.large
}

// Closed implements tcpros.LinkSink.
func (l *link) Closed(err error) {
	l.LinkSink.Closed(err)
	l.tap.remove(l)
	l.last.drop(&l.tap.latched)
}

// Lost implements tcpros.LostSink.
func (l *link) Lost(messages int) {
	if sink, ok := l.LinkSink.(tcpros.LostSink); ok {
		sink.Lost(messages)
	}
}

// firstRoom is how much memory a large message gets at first if the next sink has refused it.
const firstRoom = 1 << 20

// largeFrame copies a large message for viewers as it arrives. The next sink may refuse the
// message, such as while the recording is paused: viewers get it nevertheless.
type largeFrame struct {
	link  *link
	frame tcpros.LargeFrame // of the next sink; nil if that refused the message
	room  []byte            // what the link fills now
	data  []byte            // what was copied before
	full  bool              // there is no memory for the message, so it is not shown
}

// Room implements tcpros.LargeFrame.
func (f *largeFrame) Room(n int) []byte {
	f.copyRoom()
	switch {
	case f.frame != nil:
		f.room = f.frame.Room(n)
	case f.full:
		f.link.hide()
		f.room = nil
	default:
		f.room = make([]byte, min(n, max(firstRoom, len(f.data))))
	}
	if f.room == nil { // the link discards the rest, and makes no further call
		f.end()
	}
	return f.room
}

// copyRoom copies what the link has filled.
func (f *largeFrame) copyRoom() {
	if len(f.room) == 0 || f.full {
		return
	}
	if !f.link.tap.partial.take(int64(len(f.room))) {
		f.link.tap.partial.free(int64(len(f.data)))
		f.data, f.full = nil, true
		return
	}
	f.data = append(f.data, f.room...)
	f.room = nil
}

// Commit implements tcpros.LargeFrame.
func (f *largeFrame) Commit(received time.Time) {
	l, data := f.link, f.room
	switch {
	case f.full:
		data = nil
	case len(f.data) > 0:
		data = slices.Concat(f.data, f.room)
	case f.frame != nil: // the memory is that of the sink
		data = slices.Clone(f.room)
	}
	frame := f.frame
	f.end()
	if frame != nil {
		frame.Commit(received)
	}
	if data == nil {
		l.hide()
		return
	}
	at, _ := l.stamp(received)
	payload := data[lengthBytes:]
	if l.latching { // before Put, see link
		l.setKept(l.last.share(at, payload, &l.tap.latched))
	}
	if feed := l.feed.Load(); feed != nil {
		feed.Put(at, payload, 0)
	}
}

// Abort implements tcpros.LargeFrame.
func (f *largeFrame) Abort() {
	frame := f.frame
	f.end()
	if frame != nil {
		frame.Abort()
	}
}

// end frees the memory of the message.
func (f *largeFrame) end() {
	f.link.tap.partial.free(int64(len(f.data)))
	*f = largeFrame{link: f.link}
}
