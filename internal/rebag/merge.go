package rebag

import (
	"errors"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// merge hands out the messages of all inputs, the earliest first, of equal times
// those of the first input first. It begins to read an input when its time has come,
// so that of many parts of a recording one reads ahead, and not all.
type merge struct {
	o     *Options
	feeds []*feed     // those that may have messages, by order
	last  *feed       // whose message was handed out
	until bagfmt.Time // no other feed has a message before

	start cutStart
}

// feed is one input and its next message.
type feed struct {
	name  string
	read  func() (m *bagfmt.Message, repeated bool, err error)
	close func()
	head  *bagfmt.Message // nil before it is read
	time  bagfmt.Time     // of head, before that a lower bound

	repeated bool // head repeats what was latched where the input begins
}

func newMerge(inputs []Input, o *Options) *merge {
	m := &merge{o: o, start: cutStart{o: o}}
	for _, in := range inputs {
		f := &feed{name: in.Name, close: func() {}}
		if in.Reader != nil {
			// A Cursor does nothing before its first Next.
			c := in.Reader.Cursor(bagfmt.Query{Keep: o.Keep, Start: o.Start, End: o.End, Workers: o.Workers, Reuse: true})
			f.read, f.close = walk(in.Reader, c), c.Close
			if f.time = in.Reader.Start(); f.time.Before(o.Start) {
				f.time = o.Start
			}
			m.start.saw(in.Reader.End())
		} else {
			f.read = m.scan(in.Scanner)
		}
		m.feeds = append(m.feeds, f)
	}
	return m
}

// walk reads from c, a Cursor of r. It does nothing before its first call.
func walk(r *bagfmt.Reader, c rosbag.Cursor) func() (*bagfmt.Message, bool, error) {
	find := sync.OnceValue(func() *rosbag.Repeats { return rosbag.FindRepeats(r) })
	return func() (*bagfmt.Message, bool, error) {
		repeats := find()
		m, err := c.Next()
		return m, err == nil && repeats.Is(m), err
	}
}

// scan reads what the options select from s.
func (m *merge) scan(s *bagfmt.Scanner) func() (*bagfmt.Message, bool, error) {
	o := m.o
	kept := make(map[*bagfmt.Connection]bool)
	repeats := rosbag.NewRepeats(s.Repeated())
	return func() (*bagfmt.Message, bool, error) {
		for {
			next, err := s.Next()
			if err != nil {
				return nil, false, err
			}
			repeated := repeats.Is(next)
			m.start.saw(next.Time)
			keep, known := kept[next.Conn]
			if !known {
				keep = o.Keep == nil || o.Keep(next.Conn)
				kept[next.Conn] = keep
			}
			switch {
			case !keep:
			case next.Time.Before(o.Start):
				m.start.passed(next)
			case o.End.IsZero() || !o.End.Before(next.Time):
				return next, repeated, nil
			}
		}
	}
}

// next returns the next message of all, io.EOF at the end. It is valid until the
// next call.
func (m *merge) next() (*bagfmt.Message, error) {
	if f := m.last; f != nil {
		m.last = nil
		if err := m.advance(f); err != nil {
			return nil, err
		}
		if f.head != nil && f.time.Before(m.until) {
			m.last = f
			return f.head, nil
		}
	}
	for {
		f := m.first()
		if f == nil {
			return nil, io.EOF
		}
		if f.head != nil {
			m.last = f
			return f.head, nil
		}
		if err := m.advance(f); err != nil {
			return nil, err
		}
	}
}

// first returns the feed that has, or may have, the earliest message, nil if there is
// none, and notes the time of the one behind it.
func (m *merge) first() *feed {
	if len(m.feeds) == 0 {
		return nil
	}
	first := m.feeds[0]
	m.until = bagfmt.Time{Sec: math.MaxUint32}
	for _, f := range m.feeds[1:] {
		if f.time.Before(first.time) {
			first, f = f, first
		}
		if f.time.Before(m.until) {
			m.until = f.time
		}
	}
	return first
}

// advance reads the next message of f and tells about what cannot be read before it.
// A feed at its end is removed.
func (m *merge) advance(f *feed) error {
	for {
		var err error
		f.head, f.repeated, err = f.read()
		switch {
		case err == nil:
			f.time = f.head.Time
			return nil
		case errors.Is(err, io.EOF) && !errors.Is(err, bagfmt.ErrCorrupt):
			f.head = nil
			f.close()
			m.feeds = slices.DeleteFunc(m.feeds, func(g *feed) bool { return g == f })
			return nil
		}
		if err := m.damaged(f.name, err); err != nil {
			return err
		}
	}
}

// damaged tells about damage of an input. It returns an error that ends the copy.
func (m *merge) damaged(input string, err error) error {
	if m.o.Damaged == nil {
		return err
	}
	if !m.start.firstTold(input, err) {
		return nil
	}
	return m.o.Damaged(input, err)
}

// close ends what reads ahead.
func (m *merge) close() {
	for _, f := range m.feeds {
		f.close()
	}
}
