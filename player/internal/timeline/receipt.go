package timeline

import (
	"errors"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/rosbag"
)

// byReceipt gives out the selected messages of all bags by time. Messages with the
// same stamp come in the order of the bags, and within a bag in that of the file.
type byReceipt struct {
	bags     []*plan.Bag // by the number of the file
	messages *rosbag.Sequence
	damaged  func(*control.DamageError)
}

// received returns the messages by time of receipt. They begin at from, or at the start of the window
// if that is later.
func (o *Order) received(from rosbag.Time, cancel <-chan struct{}) *byReceipt {
	p, t := o.plan, &byReceipt{damaged: o.Damaged}
	var files []rosbag.File
	for _, b := range p.Bags {
		if len(b.Routes) > 0 {
			t.bags = append(t.bags, b)
			files = append(files, played(b))
		}
	}
	t.messages = rosbag.NewSequence(files, rosbag.SequenceOptions{FileChanged: func(_, begun string) {
		if begun != "" {
			p.Log.Debug("reads ahead in the next bag", zap.String("bag", begun))
		}
	}})
	q := rosbag.Query{Start: p.Start, End: p.End, Workers: o.Workers, Cancel: cancel}
	if o.Reach == 0 { // headerOrder keeps messages when the cursors have left their memory
		q.Memory = o.Memory
	}
	t.messages.SetFilter(q)
	t.messages.Seek(from)
	return t
}

// played returns the messages of the bag that are selected.
func played(b *plan.Bag) rosbag.File {
	f := rosbag.FileOf(b.Name, b.Source)
	f.Open = func(q rosbag.Query) (rosbag.Cursor, error) {
		q.Keep = func(c *rosbag.Connection) bool { return b.Routes[c] != nil }
		return b.Source.Cursor(q), nil
	}
	return f
}

// Begin implements Sequence.
func (t *byReceipt) Begin() { t.messages.Begin() }

// Next implements Sequence.
func (t *byReceipt) Next() (*rosbag.Message, *plan.Route) {
	for t.messages.HasNext() {
		m, err := t.messages.Next()
		b := t.bags[t.messages.File()]
		switch {
		case err == nil:
			return m, b.Routes[m.Conn]
		case errors.Is(err, rosbag.ErrCanceled):
			return nil, nil // Close closes the cursors, which may block
		}
		t.damaged(b.Damage(err))
	}
	return nil, nil
}

// Close implements Sequence.
func (t *byReceipt) Close() { t.messages.Close() }
