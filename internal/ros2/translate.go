package ros2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/gorosbag/gorosbag/internal/ros2/db3"
	"github.com/gorosbag/gorosbag/internal/ros2/definitions"
	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/ros2/packed"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/rosbag"
)

// raw is a file of CDR messages.
type raw interface {
	rosbag.Indexed
	rosbag.Latest
}

// qosKey is the key of a channel's metadata with the quality of service of its publishers.
const qosKey = "offered_qos_profiles"

// translator maps channels of ROS 2 to connections of ROS 1. All channels, of all files, that have the
// same topic, type, definition and latching share a connection.
type translator struct {
	files []raw
	// messages in each of files
	counts []map[*rosbag.Connection]uint64
	types  *definitions.Chooser
	// of a message that is unpacked
	maxBytes int
	made     map[connKey]*translated
	conns    []*rosbag.Connection
	// of conns, and of topics that are left out
	reports []*TopicReport
	// the connection of each report; of a topic that is left out, one that is not in conns
	about map[*TopicReport]*rosbag.Connection
	// of topics that are left out, by the line that says so
	lost map[string]*TopicReport
	// a line for each topic that is left out
	leftOut []error
	damage  []error
	notes   []error
}

type connKey struct {
	topic   string
	kind    definitions.Key
	latched bool
}

// translated is a connection of ROS 1 and how its messages are made.
type translated struct {
	conn    *rosbag.Connection
	convert *mapping.To1 // nil: messages are those of ROS 1 already

	mu     sync.Mutex // cursors of several goroutines write the report
	report *TopicReport
}

// note records what became of a message. A message that cannot be converted counts as input only.
func (t *translated) note(counts mapping.Counts, err error) {
	if err == nil && counts == (mapping.Counts{}) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Counts.Add(counts)
	if err != nil {
		t.report.In++
		t.report.Failed(err)
	}
}

func newTranslator(types *definitions.Chooser) *translator {
	return &translator{
		types: types, maxBytes: db3.MaxMessageBytes, made: map[connKey]*translated{},
		about: map[*TopicReport]*rosbag.Connection{}, lost: map[string]*TopicReport{},
	}
}

// of returns the translation of a channel with a number of messages, nil if these cannot be translated.
func (t *translator) of(c *rosbag.Connection, messages uint64, qos map[string]string) *translated {
	encoding, foreign := c.Header.Get(rosbag.KeyMCAPEncoding)
	if !foreign { // a channel of ROS 1
		key := connKey{
			c.Topic,
			definitions.Key{Name: c.Header.Type(), Schema: fmt.Sprint(len(t.conns))},
			c.Header.Latching(),
		}
		report := &TopicReport{
			Topic: c.Topic, Type: c.Header.Type(), OutTopic: c.Topic,
			OutType: c.Header.Type(), Latched: key.latched,
		}
		t.reports = append(t.reports, report)
		return t.add(key, c.Header, nil, report)
	}
	kind := kindOf(c)
	to, replaced, err := t.typeOf(kind, encoding, func() []byte { return t.firstOf(kind) })
	if err != nil {
		t.leaveOut(c, messages, err)
		return nil
	}
	text, _ := c.Header.Get(rosbag.KeyMCAPMetadata + qosKey)
	if text == "" {
		text = qos[c.Topic]
	}
	about := &rosbag.Connection{Topic: c.Topic, Header: rosbag.Header{{Key: rosbag.KeyType, Value: to.Type}}}
	if replaced != "" {
		t.notes = append(t.notes, &rosbag.TopicError{Conn: about, Err: errors.New(replaced)})
	}
	profiles, err := rosbag2.ParseQoS(text)
	if err != nil {
		t.damage = append(t.damage,
			&rosbag.TopicError{Conn: about, Err: fmt.Errorf("%w: it counts as not latched", err)})
	}
	key := connKey{c.Topic, kind, rosbag2.Latched(profiles)}
	if made := t.made[key]; made != nil {
		return made
	}
	h := rosbag.Header{
		{Key: rosbag.KeyCallerID, Value: callerID},
		{Key: rosbag.KeyTopic, Value: c.Topic},
		{Key: rosbag.KeyType, Value: to.Type},
		{Key: rosbag.KeyMD5Sum, Value: to.MD5Sum},
		{Key: rosbag.KeyMessageDefinition, Value: to.Definition},
	}
	if key.latched {
		h = append(h, rosbag.Field{Key: rosbag.KeyLatching, Value: "1"})
	}
	report := &TopicReport{
		Topic: c.Topic, Type: c.Header.Type(), OutTopic: c.Topic, OutType: to.Type, Latched: key.latched,
		Notes: to.Notes,
	}
	t.reports = append(t.reports, report)
	return t.add(key, h, to, report)
}

// use adds a file. All are there before the first channel is translated.
func (t *translator) use(r raw) {
	t.files = append(t.files, r)
	t.counts = append(t.counts, rosbag.Counts(r))
}

// callerID is the publisher of all messages: recordings of ROS 2 do not say which node sent them.
const callerID = "/rosbag2"

func (t *translator) add(key connKey, h rosbag.Header, to *mapping.To1, report *TopicReport) *translated {
	made := &translated{conn: &rosbag.Connection{
		ID: rosbag.ConnID(len(t.conns)), Topic: key.topic,
		Header: h,
	}, convert: to, report: report}
	t.about[report] = made.conn
	t.conns = append(t.conns, made.conn)
	t.made[key] = made
	return made
}

// leaveOut reports a topic that cannot be translated, once, and counts its messages.
func (t *translator) leaveOut(c *rosbag.Connection, messages uint64, why error) {
	about := &rosbag.Connection{Topic: c.Topic, Header: rosbag.Header{
		{Key: rosbag.KeyCallerID, Value: callerID},
		{Key: rosbag.KeyType, Value: t.types.Name1(c.Header.Type())},
	}}
	var err error = &rosbag.TopicError{Conn: about, LeftOut: true, Err: why}
	var encoding *rosbag.EncodingError
	if errors.As(why, &encoding) {
		encoding.Topic = c.Topic
		err = why
	}
	line := err.Error()
	if t.lost[line] == nil {
		t.leftOut = append(t.leftOut, err)
		r := &TopicReport{Topic: c.Topic, Type: c.Header.Type(), Reason: why.Error()}
		t.about[r] = about
		t.lost[line] = r
		t.reports = append(t.reports, r)
	}
	t.lost[line].In += messages
}

// settle turns the lines about topics that are left out into damage, or into notes if the topics have no
// messages.
func (t *translator) settle() {
	for _, err := range t.leftOut {
		r := t.lost[err.Error()]
		if r.In > 0 {
			t.damage = append(t.damage, err)
			continue
		}
		t.notes = append(t.notes,
			&rosbag.TopicError{
				Conn: t.about[r], LeftOut: true,
				Err: fmt.Errorf("it has no messages; %s", r.Reason),
			})
	}
}

// typeOf returns the conversion of a type, see definitions.Chooser.
func (t *translator) typeOf(
	key definitions.Key, encoding string, first func() []byte,
) (to *mapping.To1, replaced string, err error) {
	switch {
	case encoding != "cdr":
		return nil, "", &rosbag.EncodingError{
			Encoding: encoding, Schema: key.Name,
			SchemaEncoding: key.Encoding, ROS2: true,
		}
	case strings.Contains(key.Name, "/srv/") || strings.Contains(key.Name, "/action/"):
		return nil, "", fmt.Errorf("its type %s is part of a service or an action, for which ROS 1 has no messages", key.Name)
	}
	return t.types.Choose(key, first)
}

// kindOf returns what a channel says of its type.
func kindOf(c *rosbag.Connection) definitions.Key {
	encoding, _ := c.Header.Get(rosbag.KeyMCAPSchemaEncoding)
	schema, _ := c.Header.Get(rosbag.KeyMCAPSchema)
	return definitions.Key{Name: c.Header.Type(), Encoding: encoding, Schema: schema}
}

// firstOf returns the first message of a type, of all channels and files, nil if there is none that can
// be read. A channel may have messages only in a later file, or none where another one has.
func (t *translator) firstOf(kind definitions.Key) []byte {
	for i, r := range t.files {
		for _, c := range r.Connections() {
			if encoding, _ := c.Header.Get(rosbag.KeyMCAPEncoding); t.counts[i][c] == 0 ||
				encoding != "cdr" || kindOf(c) != kind {
				continue
			}
			if data := t.first(r, c); data != nil {
				return data
			}
		}
	}
	return nil
}

// first returns the first message of a channel of a file, nil if there is none that can be read.
func (t *translator) first(r raw, c *rosbag.Connection) []byte {
	cursor := r.Cursor(rosbag.Query{Keep: func(other *rosbag.Connection) bool { return other == c }})
	defer cursor.Close()
	m, err := cursor.Next()
	if err != nil {
		return nil
	}
	if packed.IsMessage(m.Data()) {
		d := packed.Decoder{MaxBytes: t.maxBytes}
		defer d.Close()
		data, _ := d.Unpack(m.Data()) // its cursor says what is wrong with it
		return data
	}
	return slices.Clone(m.Data())
}

// translatedFile presents a file as a recording of ROS 1, with the connections of the translator.
type translatedFile struct {
	raw    raw
	number int // of the file
	conns  map[*rosbag.Connection]*translated
	spans  []rosbag.Span

	maxBytes int // of a message that is unpacked
}

// newTranslatedFile translates the connections of a file of t.
func newTranslatedFile(number int, t *translator, qos map[string]string) *translatedFile {
	r := t.files[number]
	f := &translatedFile{
		raw: r, number: number, conns: map[*rosbag.Connection]*translated{},
		maxBytes: t.maxBytes,
	}
	counts := t.counts[number]
	for _, c := range r.Connections() {
		if to := t.of(c, counts[c], qos); to != nil {
			f.conns[c] = to
		}
	}
	for i := range r.NumSpans() {
		s := *r.Span(i)
		s.Counts = nil
		for _, n := range r.Span(i).Counts {
			if to := f.conns[n.Conn]; to != nil {
				s.Counts = append(s.Counts, rosbag.ConnCount{Conn: to.conn, Count: n.Count})
			}
		}
		f.spans = append(f.spans, s)
	}
	return f
}

// wanted returns the filter for channels of a file that corresponds to keep, a filter for connections of
// ROS 1.
func (f *translatedFile) wanted(keep func(*rosbag.Connection) bool) func(*rosbag.Connection) bool {
	return func(c *rosbag.Connection) bool {
		to := f.conns[c]
		return to != nil && (keep == nil || keep(to.conn))
	}
}

// Cursor returns a cursor over messages of ROS 1.
func (f *translatedFile) Cursor(q rosbag.Query) rosbag.Cursor {
	reuse := q.Reuse
	// messages are copied
	q.Keep, q.Reuse, q.Memory, q.Chunks = f.wanted(q.Keep), true, nil, false
	return &translatedCursor{
		f: f, raw: f.raw.Cursor(q), packed: packed.Decoder{MaxBytes: f.maxBytes},
		reuse: reuse,
	}
}

// index returns the entries of a span.
func (f *translatedFile) index(i int, keep func(*rosbag.Connection) bool) ([]rosbag.Entry, error) {
	all, err := f.raw.Index(i, f.wanted(keep))
	for n := range all {
		all[n].Conn = f.conns[all[n].Conn].conn
	}
	return all, err
}

// latest returns the latest messages of connections.
func (f *translatedFile) latest(t rosbag.Time,
	keep func(*rosbag.Connection) bool,
) iter.Seq2[*rosbag.Connection, rosbag.Found] {
	return func(yield func(*rosbag.Connection, rosbag.Found) bool) {
		d := packed.Decoder{MaxBytes: f.maxBytes}
		defer d.Close()
		for c, found := range f.raw.Latest(t, f.wanted(keep)) {
			to := f.conns[c]
			found.Err = f.aboutOutput(found.Err)
			if found.Message != nil {
				m := found.Message
				found.Message = &rosbag.Message{}
				if err := f.translate(found.Message, to, m, &d, nil); err != nil {
					found.Message, found.Err = nil, err
				}
			}
			if !yield(to.conn, found) {
				return
			}
		}
	}
}

// translate sets out to a message of ROS 1, in the memory of its Frame. d unpacks m if it is packed, whatever
// metadata.yaml says: a file may be there without it. It adds to counts, which may be nil.
func (f *translatedFile) translate(out *rosbag.Message, to *translated, m *rosbag.Message, d *packed.Decoder,
	counts *mapping.Counts,
) error {
	frame := out.Frame
	if to.convert == nil {
		frame = framed(frame, m.Data())
	} else {
		data, err := m.Data(), error(nil)
		if packed.IsMessage(data) {
			data, err = d.Unpack(data)
		}
		if err == nil {
			frame, err = to.convert.Append(append(frame[:0], 0, 0, 0, 0), data, counts)
		}
		if err != nil {
			return &rosbag.TopicError{Conn: to.conn, Err: fmt.Errorf("message of %s: %w", m.Time, err)}
		}
		binary.LittleEndian.PutUint32(frame, uint32(len(frame)-4))
	}
	*out = rosbag.Message{
		Conn: to.conn, Time: m.Time, Frame: frame, Share: len(frame),
		Order: uint64(f.number)<<48 | m.Order&(1<<48-1),
	}
	return nil
}

// aboutOutput returns an error of reading the file. If the error is about a connection of the file, the
// result is about the corresponding connection of ROS 1.
func (f *translatedFile) aboutOutput(err error) error {
	var topic *rosbag.TopicError
	if errors.As(err, &topic) {
		if to := f.conns[topic.Conn]; to != nil {
			return &rosbag.TopicError{Conn: to.conn, LeftOut: topic.LeftOut, Err: topic.Err}
		}
	}
	return err
}

// framed returns data with its length before it, in the memory of frame.
func framed(frame, data []byte) []byte {
	if frame == nil {
		frame = make([]byte, 0, len(data)+4)
	}
	return append(binary.LittleEndian.AppendUint32(frame[:0], uint32(len(data))), data...)
}

// translatedCursor is a cursor over messages of ROS 1.
type translatedCursor struct {
	f      *translatedFile
	raw    rosbag.Cursor
	packed packed.Decoder
	reuse  bool

	// Of the latest message:
	conn   *rosbag.Connection
	to     *translated // what conn becomes
	out    rosbag.Message
	counts mapping.Counts
}

// Next implements rosbag.Cursor.
func (c *translatedCursor) Next() (*rosbag.Message, error) {
	m, err := c.raw.Next()
	if err != nil {
		return nil, c.f.aboutOutput(err)
	}
	if !c.reuse {
		c.out.Frame = make([]byte, 0, len(m.Data())+64)
	}
	if m.Conn != c.conn {
		c.conn, c.to = m.Conn, c.f.conns[m.Conn]
	}
	c.counts = mapping.Counts{}
	err = c.f.translate(&c.out, c.to, m, &c.packed, &c.counts)
	c.to.note(c.counts, err)
	if err != nil {
		return nil, err
	}
	return &c.out, nil
}

// Begin implements rosbag.Starter.
func (c *translatedCursor) Begin() {
	if s, ok := c.raw.(rosbag.Starter); ok {
		s.Begin()
	}
}

// Close implements rosbag.Cursor.
func (c *translatedCursor) Close() {
	c.raw.Close()
	c.packed.Close()
}
