package ros2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/gorosbag/gorosbag/internal/ros2/db3"
	"github.com/gorosbag/gorosbag/rosbag"
)

// dbFile is a db3 file as a recording of CDR messages, in the form in which bagfmt presents channels of
// MCAP files. Each cursor opens the file for itself, so that several cursors may be used at a time.
type dbFile struct {
	ctx   context.Context //nolint:containedctx // the recording is open until this ends
	path  string
	o     db3.Options
	info  rosbag.Info
	conns []*rosbag.Connection
	byID  map[int64]*rosbag.Connection
	ids   map[*rosbag.Connection]int64
	spans []rosbag.Span // one of each topic that has messages: a file knows nothing smaller
}

// openDatabase opens the file at path, and counts its messages.
func openDatabase(ctx context.Context, path string, o db3.Options) (*dbFile, error) {
	r, err := db3.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	f := &dbFile{
		ctx: ctx, path: path, o: o, byID: map[int64]*rosbag.Connection{},
		ids: map[*rosbag.Connection]int64{},
	}
	counts, err := r.Counts(ctx)
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), r.Close())
	}
	f.info = rosbag.Info{Format: "db3", Version: fmt.Sprint(r.Schema()), Size: r.Size(), Indexed: true}
	if err != nil {
		f.info.Damage = append(f.info.Damage, err)
	}
	for _, t := range r.Topics() {
		f.add(t, counts[t.ID])
	}
	return f, r.Close()
}

// add adds a topic.
func (f *dbFile) add(t db3.Topic, n db3.Count) {
	c := &rosbag.Connection{ID: rosbag.ConnID(len(f.conns)), Topic: t.Name, Header: rosbag.Header{
		{Key: rosbag.KeyTopic, Value: t.Name},
		{Key: rosbag.KeyType, Value: t.Type},
		{Key: rosbag.KeyMCAPEncoding, Value: t.Serialization},
		{Key: rosbag.KeyMCAPSchemaEncoding, Value: t.Encoding},
		{Key: rosbag.KeyMCAPSchema, Value: t.Definition},
		{Key: rosbag.KeyMCAPMetadata + qosKey, Value: t.QoS},
	}}
	f.conns = append(f.conns, c)
	f.byID[t.ID], f.ids[c] = c, t.ID
	if n.Messages == 0 {
		return
	}
	start, end := clamped(n.First), clamped(n.Last)
	if f.info.Messages == 0 || start.Before(f.info.Start) {
		f.info.Start = start
	}
	if f.info.End.Before(end) {
		f.info.End = end
	}
	f.info.Messages += n.Messages
	count := rosbag.ConnCount{Conn: c, Count: uint32(min(n.Messages, math.MaxUint32))}
	f.spans = append(f.spans, rosbag.Span{Start: start, End: end, Counts: []rosbag.ConnCount{count}})
}

// clamped returns a time in nanoseconds, or the nearest that ROS 1 has.
func clamped(at int64) rosbag.Time {
	switch sec := at / 1e9; {
	case at < 0:
		return rosbag.Time{}
	case sec > math.MaxUint32:
		return rosbag.Time{Sec: math.MaxUint32, Nsec: 999_999_999}
	default:
		return rosbag.Time{Sec: uint32(sec), Nsec: uint32(at % 1e9)}
	}
}

func nanoseconds(t rosbag.Time) int64 { return int64(t.Sec)*1e9 + int64(t.Nsec) }

func (f *dbFile) Info() rosbag.Info                 { return f.info }
func (f *dbFile) Connections() []*rosbag.Connection { return f.conns }
func (f *dbFile) NumSpans() int                     { return len(f.spans) }
func (f *dbFile) Span(i int) *rosbag.Span           { return &f.spans[i] }

// query selects messages of the connections that keep wants.
func (f *dbFile) query(keep func(*rosbag.Connection) bool) db3.Query {
	var q db3.Query
	if keep == nil {
		return q
	}
	q.Topics = []int64{}
	for _, c := range f.conns {
		if keep(c) {
			q.Topics = append(q.Topics, f.ids[c])
		}
	}
	return q
}

// Cursor implements rosbag.Source.
func (f *dbFile) Cursor(q rosbag.Query) rosbag.Cursor {
	c := f.cursor(q.Keep)
	c.cancel = q.Cancel
	c.q.Start = nanoseconds(q.Start)
	c.q.End = nanoseconds(q.End)
	return c
}

// cursor returns a cursor over all messages of the connections that keep wants.
func (f *dbFile) cursor(keep func(*rosbag.Connection) bool) *dbCursor {
	return &dbCursor{f: f, q: f.query(keep)}
}

// Index implements rosbag.Indexed.
func (f *dbFile) Index(i int, keep func(*rosbag.Connection) bool) (all []rosbag.Entry, err error) {
	of := f.spans[i].Counts[0].Conn
	if keep != nil && !keep(of) {
		return nil, nil
	}
	c := f.cursor(func(c *rosbag.Connection) bool { return c == of })
	c.q.NoData = true
	defer c.Close()
	for {
		m, err := c.Next()
		switch {
		case err == nil:
			all = append(all, rosbag.Entry{Conn: m.Conn, Time: m.Time})
		case !errors.Is(err, rosbag.ErrCorrupt): // such as io.EOF
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return all, err
		}
	}
}

// Latest implements rosbag.Latest. It reads from t backwards until all connections have a message, or had
// none: what is rare costs what is frequent since.
func (f *dbFile) Latest(t rosbag.Time, keep func(*rosbag.Connection) bool) iter.Seq2[*rosbag.Connection,
	rosbag.Found] {
	return func(yield func(*rosbag.Connection, rosbag.Found) bool) {
		wanted := 0
		for _, s := range f.spans {
			if keep == nil || keep(s.Counts[0].Conn) {
				wanted++
			}
		}
		latest := map[*rosbag.Connection]rosbag.Found{}
		c := f.cursor(keep)
		defer c.Close()
		c.q.End, c.q.Backwards = max(nanoseconds(t), 1), true
		for len(latest) < wanted {
			m, err := c.Next()
			if err != nil && !errors.Is(err, rosbag.ErrCorrupt) { // such as io.EOF
				break
			}
			if err == nil && latest[m.Conn].Message == nil {
				copied := *m
				copied.Frame = framed(nil, m.Data())
				latest[m.Conn] = rosbag.Found{Message: &copied}
			}
		}
		for _, conn := range f.conns {
			if found, ok := latest[conn]; ok && !yield(conn, found) {
				return
			}
		}
	}
}

// dbCursor walks over the messages of a dbFile. Each is valid until the next call: translatedFile copies
// them.
type dbCursor struct {
	f      *dbFile
	q      db3.Query
	cancel <-chan struct{}
	file   *db3.Reader // nil before the first message
	cursor *db3.Cursor
	msg    rosbag.Message
	order  uint64
	ended  error
}

// errCursorClosed is the error of Next after Close.
var errCursorClosed = errors.New("cursor is closed")

// Next implements rosbag.Cursor.
func (c *dbCursor) Next() (*rosbag.Message, error) {
	select {
	case <-c.cancel:
		return nil, rosbag.ErrCanceled
	default:
	}
	if c.ended == nil && c.cursor == nil {
		c.ended = c.begin()
	}
	for c.ended == nil {
		m, err := c.cursor.Next(c.f.ctx)
		switch {
		case errors.Is(err, db3.ErrCorrupt):
			return nil, damage(err)
		case err != nil:
			c.ended = err
			continue
		}
		conn := c.f.byID[m.Topic]
		if conn == nil {
			return nil, damage(fmt.Errorf("a message has the topic number %d, which no topic of the file has",
				m.Topic))
		}
		at := clamped(m.At)
		if nanoseconds(at) != m.At {
			return nil, &rosbag.TopicError{
				Conn: conn,
				Err:  fmt.Errorf("a message has the time %d ns, which ROS 1 cannot represent", m.At),
			}
		}
		c.order++
		c.msg = rosbag.Message{
			Conn: conn, Time: at, Frame: framed(c.msg.Frame, m.Data), Order: c.order,
			Share: len(m.Data) + 4,
		}
		return &c.msg, nil
	}
	return nil, c.ended
}

// begin opens the file.
func (c *dbCursor) begin() error {
	var err error
	if c.file, err = db3.Open(c.f.ctx, c.f.path, c.f.o); err != nil {
		return err
	}
	c.cursor, err = c.file.Messages(c.f.ctx, c.q)
	return err
}

// Close implements rosbag.Cursor.
func (c *dbCursor) Close() {
	if c.cursor != nil {
		c.cursor.Close()
	}
	if c.file != nil {
		_ = c.file.Close() // only read from
	}
	c.cursor, c.file = nil, nil
	if c.ended == nil {
		c.ended = errCursorClosed
	}
}

// damagedError is damage of a recording. It matches rosbag.ErrCorrupt.
type damagedError struct{ error }

func damage(err error) error { return &damagedError{err} }

// Is reports whether target is rosbag.ErrCorrupt.
func (e *damagedError) Is(target error) bool { return target == rosbag.ErrCorrupt }

// Unwrap returns the cause.
func (e *damagedError) Unwrap() error { return e.error }
