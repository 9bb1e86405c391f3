// Package echo prints messages of recordings as text, as CSV or as JSON.
//
// A Printer owns how the messages of each connection of the current recording are decoded, and which
// topics were shown. The command gobag echo calls it. It opens no file, and reports problems
// through functions of its options.
package echo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/query"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/internal/text/jsontext"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// Format is how messages are printed.
type Format int

// The formats: as rostopic echo prints messages without and with -p, and a line of JSON for each.
const (
	Text Format = iota
	CSV
	JSON
)

// Options say what is printed, and how.
type Options struct {
	Topics    []*Topic // none: all topics
	Format    Format
	NoArrays  bool   // leave arrays out of text and CSV
	NoStrings bool   // leave strings out of text and CSV
	Escape    bool   // escape control characters in CSV, which otherwise has the strings unchanged
	Limit     uint64 // print so many messages; 0 for all

	Unshown func(error) // called with what keeps messages from being shown
	Odd     func(error) // called with what is odd about messages that are shown
}

// Printer prints the messages of recordings, one after the other.
type Printer struct {
	o        Options
	types    msgdef.Cache
	recorded []string // topics of all recordings, to suggest one

	name   string                         // of the current recording
	shows  map[*rosbag.Connection][]*show // of the current recording
	buf    []byte
	count  uint64
	titled bool // the header of CSV is out
}

// NewPrinter returns a Printer.
func NewPrinter(o Options) *Printer { return &Printer{o: o} }

// Begin begins another recording.
func (p *Printer) Begin(name string) { p.name, p.shows = name, make(map[*rosbag.Connection][]*show) }

// Full reports whether the limit is reached.
func (p *Printer) Full() bool { return p.o.Limit > 0 && p.count >= p.o.Limit }

// Wants reports whether messages of a connection are wanted.
func (p *Printer) Wants(c *rosbag.Connection) bool { return p.wanted(c) != nil }

// Asks reports whether the user has asked for the topic of a connection. Unlike Wants, it takes connections
// that are of no recording, such as those of damage.
func (p *Printer) Asks(c *rosbag.Connection) bool {
	asked := len(p.o.Topics) == 0
	for _, t := range p.o.Topics {
		_, ok := t.match(c.Topic)
		asked = asked || ok
	}
	return asked
}

// Recorded returns the topics of the recordings that were finished, each once and in order.
func (p *Printer) Recorded() []string {
	slices.Sort(p.recorded)
	p.recorded = slices.Compact(p.recorded)
	return p.recorded
}

// Problems says what kept topics from being shown, if it is not that no message was recorded.
func (p *Printer) Problems() []string {
	var all []string
	for _, t := range p.o.Topics {
		if why := t.problem(p.Recorded()); why != "" {
			all = append(all, why)
		}
	}
	return all
}

// wanted returns what is shown of the messages of a connection: the fields that topics
// name, each once.
func (p *Printer) wanted(c *rosbag.Connection) []*show {
	if all, ok := p.shows[c]; ok {
		return all
	}
	var all []*show
	if len(p.o.Topics) == 0 {
		all = []*show{{}}
	}
	for _, t := range p.o.Topics {
		field, ok := t.match(c.Topic)
		if ok && !slices.ContainsFunc(all, func(s *show) bool { return s.field == field }) {
			all = append(all, &show{topic: t, field: field})
		}
	}
	p.shows[c] = all
	return all
}

// Print writes a message to w, or the fields of it that are wanted, unless it cannot be shown. An error
// is one of w.
func (p *Printer) Print(w io.Writer, m *rosbag.Message) error {
	for _, s := range p.wanted(m.Conn) {
		if p.Full() {
			break
		}
		if !s.ready {
			p.prepare(s, m.Conn)
		}
		if s.path == nil || !p.show(s, m) {
			s.skipped++
			continue
		}
		p.count++
		if _, err := w.Write(p.buf); err != nil {
			return err
		}
	}
	return nil
}

// show puts what is printed of a message into p.buf, and reports for the first message
// of a connection what is wrong with it.
func (p *Printer) show(s *show, m *rosbag.Message) bool {
	v, err := s.path.Lookup(m.Data())
	if err == nil {
		p.buf, err = p.append(p.buf[:0], v, m, s.field)
		if p.o.Escape {
			p.buf = escapeLines(p.buf)
		}
	}
	if err == nil {
		return true
	}
	if !s.reported {
		s.reported = true
		p.o.Unshown(fmt.Errorf("%s at %s: %w", wording.Shown(m.Conn.Topic), m.Time, err))
	}
	return errors.Is(err, rosmsg.ErrTrailing)
}

// append appends a message in the format that was asked for. With rosmsg.ErrTrailing
// it is complete.
func (p *Printer) append(dst []byte, v rosmsg.Value, m *rosbag.Message, field string) ([]byte, error) {
	o := rosmsg.TextOptions{NoArrays: p.o.NoArrays, NoStrings: p.o.NoStrings}
	var err error
	switch p.o.Format {
	case JSON:
		dst = jsontext.AppendString(append(dst, `{"topic":`...), []byte(m.Conn.Topic))
		// Add carries a second and more of nanoseconds, which --csv and stock's clients do as well.
		dst = fmt.Appendf(dst, `,"t":"%v","type":`, m.Time.Add(0))
		dst = jsontext.AppendString(dst, []byte(m.Conn.Header.Type()))
		if field != "" {
			dst = jsontext.AppendString(append(dst, `,"field":`...), []byte(field))
		}
		dst = append(dst, `,"msg":`...)
		dst, err = v.AppendJSON(dst)
		return append(dst, "}\n"...), err
	case CSV:
		if !p.titled {
			if dst, err = v.AppendCSVHeader(dst, o); err != nil && !errors.Is(err, rosmsg.ErrTrailing) {
				return dst, err
			}
			dst = append(dst, '\n')
			p.titled = true
		}
		dst, err = v.AppendCSV(dst, int64(m.Time.Sec)*1e9+int64(m.Time.Nsec), o)
		return append(dst, '\n'), err
	case Text:
	}
	dst, err = v.AppendText(dst, o)
	return append(dst, "\n---\n"...), err
}

// escapeLines escapes what could control a terminal, but for line breaks.
func escapeLines(b []byte) []byte {
	out := b[:0:0]
	for line := range bytes.Lines(b) {
		text, end := bytes.CutSuffix(line, []byte("\n"))
		out = append(out, wording.Escape(string(text))...)
		if end {
			out = append(out, '\n')
		}
	}
	return out
}

// Finish ends a recording with these connections: it reports how many messages were not shown.
func (p *Printer) Finish(conns []*rosbag.Connection) {
	var topics []string
	for _, c := range conns {
		topics = append(topics, c.Topic)
		for _, s := range p.wanted(c) {
			if s.skipped > 1 && s.path != nil {
				p.o.Unshown(fmt.Errorf("%s: %d messages like this were not shown", wording.Shown(c.Topic),
					s.skipped))
			}
		}
	}
	for _, topic := range topicmatch.BothForms(topics) {
		if len(p.o.Topics) > 0 && p.Asks(&rosbag.Connection{Topic: topic}) {
			p.o.Odd(query.BothFormsError(topic))
		}
	}
	for _, topic := range topics {
		p.recorded = append(p.recorded, topicmatch.Rooted(topic))
	}
}

// show is how the messages of one connection are shown, or a field of them.
type show struct {
	topic *Topic
	field string // of the messages, with dots; empty for all

	ready    bool
	path     *rosmsg.Path // nil if they cannot be shown
	reported bool
	skipped  int
}

// prepare finds out how messages are decoded, and reports once what prevents it.
func (p *Printer) prepare(s *show, c *rosbag.Connection) {
	s.ready = true
	typ, err := p.types.Of(c)
	if err != nil {
		p.o.Unshown(fmt.Errorf("%s: %w; its messages cannot be shown", wording.Shown(c.Topic), err))
		return
	}
	if typ.Replaced != "" {
		p.o.Odd(fmt.Errorf("%s: %s", wording.Shown(c.Topic), typ.Replaced))
	}
	if want := c.Header.MD5Sum(); typ.Replaced == "" && want != "" && want != "*" && want != typ.MD5Sum() {
		p.o.Odd(fmt.Errorf("%s: the definition of %s has md5sum %s, the connection %s; it is used anyway",
			wording.Shown(c.Topic), wording.Shown(c.Header.Type()), typ.MD5Sum(), wording.Shown(want)))
	}
	path, err := typ.Path(s.field)
	if err != nil {
		s.topic.noField = fmt.Errorf("%s: %w", wording.Shown(p.name), err)
		return
	}
	s.path = path
	if s.topic != nil {
		s.topic.shown = true
	}
}
