package player

import (
	"errors"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

// timeline gives out the selected messages of all bags by time. Messages with the
// same stamp come in the order of the bags, and within a bag in that of the file.
type timeline struct {
	bags     []*bagPlan // by the number of the file
	messages *rosbag.Sequence
	damaged  func(*control.DamageError)
}

// received returns the messages by time of receipt. They begin at from, or at the start of the window
// if that is later.
func (o *order) received(from rosbag.Time, cancel <-chan struct{}) *timeline {
	p, t := o.plan, &timeline{damaged: o.damaged}
	var files []rosbag.File
	for _, b := range p.bags {
		if len(b.routes) > 0 {
			t.bags = append(t.bags, b)
			files = append(files, b.played())
		}
	}
	t.messages = rosbag.NewSequence(files, rosbag.SequenceOptions{FileChanged: func(_, begun string) {
		if begun != "" {
			p.log.Debug("reads ahead in the next bag", zap.String("bag", begun))
		}
	}})
	t.messages.SetFilter(rosbag.Query{Start: p.start, End: p.end, Workers: o.workers, Cancel: cancel})
	t.messages.Seek(from)
	return t
}

// played returns the messages of the bag that are selected.
func (b *bagPlan) played() rosbag.File {
	f := rosbag.FileOf(b.name, b.source)
	f.Open = func(q rosbag.Query) (rosbag.Cursor, error) {
		q.Keep = func(c *rosbag.Connection) bool { return b.routes[c] != nil }
		return b.source.Cursor(q), nil
	}
	return f
}

// begin starts decompressing the first chunks on other cores.
func (t *timeline) begin() { t.messages.Begin() }

// next returns the next message and its route, or nil at the end, and once it was canceled. Both are
// valid until the following call; the frame stays valid. It skips damage, which is reported once for
// each place.
func (t *timeline) next() (*rosbag.Message, *route) {
	for t.messages.HasNext() {
		m, err := t.messages.Next()
		b := t.bags[t.messages.File()]
		switch {
		case err == nil:
			return m, b.routes[m.Conn]
		case errors.Is(err, rosbag.ErrCanceled):
			return nil, nil // close closes the cursors, which may block
		}
		t.damaged(b.damage(err))
	}
	return nil, nil
}

// close closes the cursors and their read-ahead.
func (t *timeline) close() { t.messages.Close() }
