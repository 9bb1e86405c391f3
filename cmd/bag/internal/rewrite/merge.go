package rewrite

import (
	"errors"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// merge returns the messages of all inputs in time order; of messages with equal times, that of the first
// input comes first. Their Chunk is set where chunks is.
type merge struct {
	o        *Options
	inputs   []Input
	messages *rosbag.Sequence
	// for each input: its latest message repeats a message that was latched where the input begins
	repeated []bool

	start cutStart
}

func newMerge(inputs []Input, o *Options, chunks bool) *merge {
	m := &merge{
		o: o, inputs: inputs, repeated: make([]bool, len(inputs)), start: cutStart{o: o, begun: !o.Latched},
	}
	var files []rosbag.File
	for i, in := range inputs {
		var f rosbag.File
		if in.Source != nil {
			f = rosbag.FileOf(in.Name, in.Source)
			m.start.saw(f.Info.End)
		}
		f.Name = in.Name
		f.Open = func(q rosbag.Query) (rosbag.Cursor, error) { return m.open(i, q), nil }
		files = append(files, f)
	}
	m.messages = rosbag.NewSequence(files, rosbag.SequenceOptions{})
	q := rosbag.Query{
		Keep: o.Keep, Start: o.Start, End: o.End, Workers: o.Workers, Reuse: true,
		Chunks: chunks,
	}
	if o.Within != nil {
		o.Within(&q)
	}
	m.messages.SetFilter(q)
	return m
}

// open returns the cursor of an input. The cursor notes in merge.repeated whether its latest message is a
// repeated one.
func (m *merge) open(i int, q rosbag.Query) rosbag.Cursor {
	in := m.inputs[i]
	if in.Source == nil {
		q.Start, q.End = m.o.Start, m.o.End // what comes before Start may be latched
		return &scanned{
			merge: m, number: i, s: in.Scanner, q: q, kept: make(map[*rosbag.Connection]bool),
			repeats: in.Scanner.Repeated().Pass(),
		}
	}
	return &walked{Cursor: in.Source.Cursor(q), source: in.Source, repeated: &m.repeated[i]}
}

// walked is the cursor of a recording with an index.
type walked struct {
	rosbag.Cursor
	source   rosbag.Source
	begun    bool            // repeats is known
	repeats  *rosbag.Repeats // of source
	repeated *bool           // the latest message is one of repeats
}

// Next implements rosbag.Cursor.
func (w *walked) Next() (*rosbag.Message, error) {
	if !w.begun {
		w.begun, w.repeats = true, rosbag.FindRepeats(w.source)
	}
	m, err := w.Cursor.Next()
	*w.repeated = err == nil && w.repeats.Is(m)
	if w.repeats != nil && err == nil && !w.source.Info().Repeated.Time.Before(m.Time) {
		m.Chunk = nil // it may have repeated messages
	}
	return m, err
}

// scanned is the cursor of a bag that is read from front to back: it returns messages in that order.
type scanned struct {
	merge   *merge
	number  int // number of the input
	s       *bagfmt.Scanner
	q       rosbag.Query
	kept    map[*rosbag.Connection]bool
	repeats *rosbag.Repeats
}

// Next implements rosbag.Cursor.
func (s *scanned) Next() (*rosbag.Message, error) {
	for {
		next, err := s.s.Next()
		if err != nil {
			return nil, err
		}
		repeated := s.repeats.Is(next)
		s.merge.start.saw(next.Time)
		keep, known := s.kept[next.Conn]
		if !known {
			keep = s.q.Keep == nil || s.q.Keep(next.Conn)
			s.kept[next.Conn] = keep
		}
		switch {
		case !keep:
		case next.Time.Before(s.q.Start):
			s.merge.start.passed(next)
		case s.q.End.IsZero() || !s.q.End.Before(next.Time):
			s.merge.repeated[s.number] = repeated
			return next, nil
		}
	}
}

// Close implements rosbag.Cursor.
func (s *scanned) Close() {}

// next returns the next message of all inputs and the number of its input, or io.EOF at the end. The
// message is valid until the next call. Damage before the message is reported first.
func (m *merge) next() (*rosbag.Message, int, error) {
	for {
		msg, err := m.messages.Next()
		switch {
		case err == nil:
			return msg, m.messages.File(), nil
		case errors.Is(err, io.EOF) && !errors.Is(err, rosbag.ErrCorrupt):
			return nil, -1, io.EOF
		}
		if err := m.damaged(m.inputs[m.messages.File()].Name, err); err != nil {
			return nil, -1, err
		}
	}
}

// damaged reports damage of an input. It returns an error that ends the copy.
func (m *merge) damaged(input string, err error) error {
	if m.o.Damaged == nil {
		return err
	}
	if !m.start.firstTold(input, err) {
		return nil
	}
	return m.o.Damaged(input, err)
}

// close ends goroutines that read ahead.
func (m *merge) close() { m.messages.Close() }
