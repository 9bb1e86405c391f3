package bagfmt

import (
	"container/heap"
	"errors"
	"io"
	"io/fs"
	"iter"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/rosbag"
)

// SequenceOptions says how a Sequence reads. The zero value is ready to use.
type SequenceOptions struct {
	Reader  table.Options
	Workers int  // as Query.Workers, for each file that is being read
	Reuse   bool // as Query.Reuse
	// FileChanged, if set, is called by Next and All when the reading crosses from
	// one file into another that it has not read from since the start, or Seek: closed is
	// the file of the message before, empty at the first one; opened is empty at the end
	// of all files.
	FileChanged func(closed, opened string)
}

// Sequence reads many bags as if they were one: the messages of all files in time
// order, of the same time in the order of the files. Files that do not overlap in
// time, as the parts of a split recording, are read one after the other, and a file is
// held open only while it is being read. Messages are given out as they are stored.
//
// It offers what the SequentialReader of rosbag2 does. What opening the files met, and
// what it could not read of them, Metadata tells. It is not for concurrent use.
type Sequence struct {
	o         SequenceOptions
	members   []*member
	q         rosbag.Query // as SetFilter left it
	from      rosbag.Time  // of Seek
	heap      memberHeap
	ready     bool    // heap is made
	last      *member // of the last message
	at        place   // of the last message
	delivered bool    // at is valid
	resume    resume
	ended     bool // FileChanged was called for the end
	closed    bool
}

// member is one file of a Sequence.
type member struct {
	number  int
	name    string
	file    *lazyFile
	reader  *Reader
	cursor  rosbag.Cursor
	time    rosbag.Time // of msg; before the cursor is made a lower bound
	msg     *rosbag.Message
	started bool // Next has returned a message of it since the start, or Seek
}

// place is where a message is in a Sequence, for messages of the same time.
type place struct {
	time  rosbag.Time
	order uint64 // rosbag.Message.Order
}

// resume is the last message returned before the heap was made.
type resume struct {
	delivered bool
	number    int // of its member
	at        place
}

var errSequenceClosed = errors.New("sequence is closed")

// FileError says which file of a Sequence an error is about.
type FileError struct {
	Name string
	Err  error
}

// Error implements error.
func (e *FileError) Error() string { return e.Name + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// OpenSequence opens the bags that names stand for: files, directories (the files
// in them that end in .bag or .bag.active) and patterns as of fs.Glob, each of the
// latter in name order with numbers compared as numbers, so that x_2.bag comes before
// x_10.bag. A file that is named twice is read once. The files must implement
// io.ReaderAt, as those of os.DirFS do. An error names the file, see FileError.
func OpenSequence(fsys fs.FS, o SequenceOptions, names ...string) (*Sequence, error) {
	files, err := bagFiles(fsys, names)
	if err != nil {
		return nil, err
	}
	s := &Sequence{o: o}
	for i, name := range files {
		f := &lazyFile{fsys: fsys, name: name}
		m := &member{number: i, name: name, file: f}
		if err = f.open(); err == nil {
			m.reader, err = NewReader(f, f.size, o.Reader)
		}
		if err = errors.Join(err, f.close()); err != nil {
			return nil, &FileError{name, err}
		}
		s.members = append(s.members, m)
	}
	return s, nil
}

// Close closes the files. The Sequence is not to be used any more.
func (s *Sequence) Close() error {
	s.closed = true
	var failed error
	for _, m := range s.members {
		failed = errors.Join(failed, m.close())
	}
	return failed
}

// SetFilter makes Next give out only what q selects, from the present place on. Of q
// Workers and Reuse do not count: those of SequenceOptions do.
func (s *Sequence) SetFilter(q rosbag.Query) {
	s.q, s.ready = q, false
}

// ResetFilter makes Next give out every message, from the present place on.
func (s *Sequence) ResetFilter() { s.SetFilter(rosbag.Query{}) }

// Seek makes Next go on with the first message at t or later, before or behind the
// present place. A filter stays as it is.
func (s *Sequence) Seek(t rosbag.Time) {
	s.from, s.delivered, s.ready = t, false, false
	for _, m := range s.members {
		m.started = false
	}
}

// File returns the name of the file that the last message came from, before the
// first one the name of the first file, empty if there is none.
func (s *Sequence) File() string {
	if s.last == nil && len(s.members) > 0 {
		return s.members[0].name
	}
	if s.last == nil {
		return ""
	}
	return s.last.name
}

// HasNextFile reports whether a file is left that no message was read from since the
// start, or Seek, and that may hold some.
func (s *Sequence) HasNextFile() bool {
	if !s.ready && !s.closed {
		s.begin()
	}
	return slices.ContainsFunc(s.heap, func(m *member) bool { return !m.started })
}

// All calls Next for each step of the loop. A step with an error has no message; the
// loop may go on, as with Next.
func (s *Sequence) All() iter.Seq2[*rosbag.Message, error] {
	return func(yield func(*rosbag.Message, error) bool) {
		for {
			m, err := s.Next()
			if errors.Is(err, io.EOF) || !yield(m, err) || s.closed {
				return
			}
		}
	}
}

// Next returns the next message, io.EOF at the end. The Message is valid as that of
// a Cursor. Its Conn is the connection of the file it came from: connections of
// different files may have the same id.
//
// Another error is a FileError about what could not be read; the next call goes on
// with what is left. Each fault is reported once, and again where Seek or a filter
// makes Next read the place again.
func (s *Sequence) Next() (*rosbag.Message, error) {
	if s.closed {
		return nil, errSequenceClosed
	}
	if !s.ready {
		s.begin()
	}
	for len(s.heap) > 0 {
		m := s.heap[0]
		if m.msg != nil {
			return s.deliver(m), nil
		}
		// The message returned last is no longer in use: now its file may advance.
		more, err := s.advance(m)
		if more {
			heap.Fix(&s.heap, 0)
		} else {
			heap.Pop(&s.heap)
		}
		if err != nil {
			return nil, &FileError{m.name, err}
		}
	}
	if s.last != nil && !s.ended && s.o.FileChanged != nil {
		s.ended = true
		s.o.FileChanged(s.last.name, "")
	}
	return nil, io.EOF
}

// deliver returns the message of m.
func (s *Sequence) deliver(m *member) *rosbag.Message {
	s.notifyFile(m)
	out := m.msg
	m.msg = nil
	s.last, s.delivered = m, true
	s.at = place{time: out.Time, order: out.Order}
	return out
}

// notifyFile calls FileChanged if m is a file that it was not called for yet.
func (s *Sequence) notifyFile(m *member) {
	closed := ""
	if s.last != nil && !s.ended {
		closed = s.last.name
	}
	if s.o.FileChanged != nil && closed != m.name && (!m.started || s.ended) {
		s.o.FileChanged(closed, m.name)
	}
	m.started, s.ended = true, false
}

// begin makes the heap for the present filter and place.
func (s *Sequence) begin() {
	s.heap, s.ready = s.heap[:0], true
	s.resume = resume{delivered: s.delivered, at: s.at}
	if s.delivered {
		s.resume.number = s.last.number
	}
	q := s.query()
	for _, m := range s.members {
		m.stop()
		wanted := m.overlaps(q)
		if wanted {
			m.time = m.reader.Start()
			if m.time.Before(q.Start) {
				m.time = q.Start
			}
			s.heap = append(s.heap, m)
		}
		if !wanted || m != s.last { // or each Seek would leave one more open
			m.file.close() //nolint:errcheck,gosec // only read from
		}
	}
	heap.Init(&s.heap)
}

// overlaps reports whether m may have messages in the range of q.
func (m *member) overlaps(q rosbag.Query) bool {
	r := m.reader
	return r.Messages() > 0 && !r.End().Before(q.Start) && (q.End.IsZero() || !q.End.Before(r.Start()))
}

// query returns the Query for each file.
func (s *Sequence) query() rosbag.Query {
	q := s.q
	q.Workers, q.Reuse = s.o.Workers, s.o.Reuse
	from := s.from
	if s.resume.delivered {
		from = s.resume.at.time
	}
	if q.Start.Before(from) {
		q.Start = from
	}
	return q
}

// advance reads the next message of m that was not returned before. It reports whether
// there is one.
func (s *Sequence) advance(m *member) (more bool, err error) {
	if m.cursor == nil {
		if err := m.file.open(); err != nil {
			return false, err
		}
		m.cursor = m.reader.Cursor(s.query())
	}
	for {
		msg, err := m.cursor.Next()
		switch {
		case errors.Is(err, io.EOF):
			return false, m.close()
		case err != nil:
			return true, err
		case s.passed(m, msg):
			continue
		}
		m.msg, m.time = msg, msg.Time
		return true, nil
	}
}

// passed reports whether msg was returned, or skipped, before the heap was made.
func (s *Sequence) passed(m *member, msg *rosbag.Message) bool {
	r := &s.resume
	if !r.delivered || msg.Time != r.at.time || m.number > r.number {
		return false
	}
	return m.number < r.number || msg.Order <= r.at.order
}

// stop ends the cursor of m, which may still be asked again.
func (m *member) stop() {
	m.msg = nil
	if m.cursor != nil {
		m.cursor.Close()
		m.cursor = nil
	}
}

// close ends the reading of m and closes its file.
func (m *member) close() error {
	m.stop()
	return m.file.close()
}

// memberHeap orders files by their next message, for container/heap.
type memberHeap []*member

func (h memberHeap) Len() int           { return len(h) }
func (h memberHeap) Less(i, j int) bool { return h[i].before(h[j]) }
func (h memberHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *memberHeap) Push(x any)        { *h = append(*h, x.(*member)) } //nolint:forcetypeassert // nothing else is pushed
func (h *memberHeap) Pop() any {
	last := len(*h) - 1
	m := (*h)[last]
	*h = (*h)[:last]
	return m
}

// before orders members by their next message, of the same time by their place in
// the list.
func (m *member) before(o *member) bool {
	if c := m.time.Compare(o.time); c != 0 {
		return c < 0
	}
	return m.number < o.number
}
