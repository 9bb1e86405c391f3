package rosbag

import (
	"errors"
	"io"
	"slices"
)

// File is one recording of a Sequence.
type File struct {
	Name string
	// Info is what is known of it, nil if nothing is known, as of a pipe. It is not opened where it has
	// no messages.
	Info *Info
	// Open returns a cursor of it. It is called when the time of the file has come, and again after
	// Seek and SetFilter.
	Open func(Query) (Cursor, error)
}

// FileOf returns an opened recording as a File.
func FileOf(name string, s Source) File {
	info := s.Info()
	return File{Name: name, Info: &info, Open: func(q Query) (Cursor, error) { return s.Cursor(q), nil }}
}

// SequenceOptions says how a Sequence reads. The zero value is ready to use.
type SequenceOptions struct {
	// FileChanged, if not nil, is called when the reading crosses from one file into another that was
	// not read from since the start, or Seek: ended is the name of the file of the message before,
	// empty at the first one; begun is empty at the end of all files.
	FileChanged func(ended, begun string)
}

// Sequence reads many recordings as if they were one: the messages of all files in time order, of the
// same time in the order of the files. Files that do not overlap in time, as the files of a split
// recording, are read one after the other. It does what the SequentialReader of rosbag2 does.
//
// A Sequence opens no file itself, and is not for concurrent use.
type Sequence struct {
	files   []File
	o       SequenceOptions
	q       Query  // of SetFilter
	from    Time   // of Seek
	merge   *merge // nil: to be made for the present filter and place
	closed  bool
	started []bool // a message of this file was given out since the start, or Seek
	reading int    // the file of the message that Next has returned last, -1 before
	ended   bool   // FileChanged was called for the end

	// The message that Next returns next, or its error, once HasNext has read it.
	ahead struct {
		known bool
		msg   *Message
		file  int
		err   error
	}
	file   int   // of what Next has returned last, -1 before
	last   place // of the message that Next has returned last
	resume place // the present merge starts after this place; all messages up to it were returned before
}

// place is that of a message in a Sequence.
type place struct {
	valid bool
	time  Time
	file  int
	order uint64 // Message.Order
}

// NewSequence returns a Sequence at the start of the files. It reads nothing yet.
func NewSequence(files []File, o SequenceOptions) *Sequence {
	return &Sequence{files: files, o: o, file: -1, reading: -1, started: make([]bool, len(files))}
}

// errSequenceClosed is the error of Next after Close.
var errSequenceClosed = errors.New("sequence is closed")

// Info returns what is known of all files together.
func (s *Sequence) Info() Info {
	all := Info{Indexed: true}
	for _, f := range s.files {
		if f.Info == nil {
			all.Indexed = false
			continue
		}
		if f.Info.Messages > 0 {
			if all.Messages == 0 || f.Info.Start.Before(all.Start) {
				all.Start = f.Info.Start
			}
			if all.End.Before(f.Info.End) {
				all.End = f.Info.End
			}
		}
		all.Format, all.Version = f.Info.Format, f.Info.Version
		all.Messages += f.Info.Messages
		all.Size += f.Info.Size
		all.Elapsed = all.Elapsed || f.Info.Elapsed
		all.Indexed = all.Indexed && f.Info.Indexed
		all.Remote = all.Remote || f.Info.Remote
		all.Damage = append(all.Damage, f.Info.Damage...)
		all.Notes = append(all.Notes, f.Info.Notes...)
	}
	return all
}

// SetFilter makes Next give out only what q selects, from the present place on; with the zero Query all
// messages.
func (s *Sequence) SetFilter(q Query) {
	s.stop()
	s.q = q
}

// Seek makes Next go on with the first message at t or later, before or after the present place. A
// filter stays as it is.
func (s *Sequence) Seek(t Time) {
	s.stop()
	s.from, s.last.valid = t, false
	clear(s.started)
}

// stop ends the present reading. What HasNext has read is read again.
func (s *Sequence) stop() {
	if s.merge != nil {
		s.merge.close()
	}
	s.merge, s.ahead.known, s.ahead.msg = nil, false, nil
}

// Begin makes the files that come first load ahead, if the filter has workers.
func (s *Sequence) Begin() {
	if s.closed {
		return
	}
	if s.merge == nil {
		s.start()
	}
	s.merge.begin()
}

// HasNext reports whether Next returns something, a message or an error. A message that Next has
// returned is not valid any more. After Close there is nothing.
func (s *Sequence) HasNext() bool {
	if s.closed {
		return false
	}
	s.read()
	return !isEnd(s.ahead.err)
}

// Next returns the next message, io.EOF at the end. It is valid until the next call of HasNext or
// Next, otherwise as one of a Cursor. Its Conn is the connection of its file: connections of different
// files may have the same id.
//
// Another error says what could not be read of File; the next call goes on with what is left. Each
// fault is reported once, and again where Seek or SetFilter makes Next read the place again.
func (s *Sequence) Next() (*Message, error) {
	s.read()
	m, file, err := s.ahead.msg, s.ahead.file, s.ahead.err
	if isEnd(err) {
		s.end()
		return nil, io.EOF
	}
	s.ahead.known, s.file = false, file
	if err != nil {
		return nil, err
	}
	if file != s.reading || s.ended || !s.started[file] {
		s.enter(file)
	}
	s.last = place{true, m.Time, file, m.Order}
	return m, nil
}

// File returns the number of the file of what Next has returned last, -1 before.
func (s *Sequence) File() int { return s.file }

// Alone reports whether all messages up to t come from File. It is called after Next.
func (s *Sequence) Alone(t Time) bool { return s.merge != nil && s.merge.alone(t) }

// Close ends the reading, as that of a Cursor.
func (s *Sequence) Close() {
	s.stop()
	s.closed = true
}

// read reads what Next returns next.
func (s *Sequence) read() {
	if s.ahead.known {
		return
	}
	a := &s.ahead
	a.known = true
	if s.closed {
		a.msg, a.file, a.err = nil, s.file, errSequenceClosed
		return
	}
	if s.merge == nil {
		s.start()
	}
	for {
		a.msg, a.file, a.err = s.merge.next()
		if a.err != nil || !s.resume.valid || !s.returned(a.msg, a.file) {
			return
		}
	}
}

// returned reports whether a message was returned, or skipped, before the present merge began.
func (s *Sequence) returned(m *Message, file int) bool {
	r := &s.resume
	if m.Time != r.time || file > r.file {
		return false
	}
	return file < r.file || m.Order <= r.order
}

// start makes the merge for the present filter and place.
func (s *Sequence) start() {
	s.resume = s.last
	q := s.q
	if q.Start.Before(s.from) {
		q.Start = s.from
	}
	if s.last.valid && q.Start.Before(s.last.time) {
		q.Start = s.last.time
	}
	var lanes []*lane
	for i, f := range s.files {
		l := &lane{number: i, open: func() (Cursor, error) { return f.Open(q) }}
		if f.Info != nil {
			if f.Info.Messages == 0 || f.Info.End.Before(q.Start) || !q.End.IsZero() &&
				q.End.Before(f.Info.Start) {
				continue
			}
			if l.time = f.Info.Start; l.time.Before(q.Start) {
				l.time = q.Start
			}
		}
		lanes = append(lanes, l)
	}
	s.merge = newMerge(slices.Clip(lanes))
}

// enter makes file the one that is read, and calls FileChanged if it was not read from before.
func (s *Sequence) enter(file int) {
	ended := ""
	if s.reading >= 0 && !s.ended {
		ended = s.files[s.reading].Name
	}
	if s.o.FileChanged != nil && (s.ended || file != s.reading && !s.started[file]) {
		s.o.FileChanged(ended, s.files[file].Name)
	}
	s.reading, s.started[file], s.ended = file, true, false
}

// end calls FileChanged for the end.
func (s *Sequence) end() {
	if s.o.FileChanged != nil && s.reading >= 0 && !s.ended {
		s.ended = true
		s.o.FileChanged(s.files[s.reading].Name, "")
	}
}
