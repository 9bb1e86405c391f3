package db3

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Query selects messages. Its zero value selects all.
type Query struct {
	Topics     []int64 // numbers of topics; nil selects all topics, an empty list none
	Start, End int64   // inclusive, nanoseconds since 1970; End zero means no end
	NoData     bool    // only topics and times: the pages of large messages are not read
	Backwards  bool    // the latest messages first
	skip       int64   // leaves out the first messages
	limit      int64   // maximum number of rows; zero means no limit
}

// statement returns an SQL statement that selects timestamp and the given columns, in time order.
func (q Query) statement(columns string) string {
	var b strings.Builder
	b.WriteString("SELECT timestamp, " + columns + " FROM messages WHERE TRUE")
	if q.Start != 0 {
		fmt.Fprintf(&b, " AND timestamp >= %d", q.Start)
	}
	if q.End != 0 {
		fmt.Fprintf(&b, " AND timestamp <= %d", q.End)
	}
	b.WriteString(" ORDER BY timestamp")
	if q.Backwards {
		b.WriteString(" DESC, rowid DESC")
	} else {
		b.WriteString(", rowid")
	}
	if q.limit > 0 {
		fmt.Fprintf(&b, " LIMIT %d OFFSET %d", q.limit, q.skip)
	}
	return b.String()
}

// columns are the topic and the data of messages; the data of other topics is not loaded. Messages of
// other topics are rows, too, so that each row comes soon, and the cursor can check its context between
// rows.
func (q Query) columns() string {
	switch {
	case q.NoData:
		return "topic_id, NULL"
	case q.Topics == nil:
		return "topic_id, data"
	}
	ids := make([]string, len(q.Topics))
	for i, id := range q.Topics {
		ids[i] = strconv.FormatInt(id, 10)
	}
	return "topic_id, CASE WHEN topic_id IN (" + strings.Join(ids, ", ") + ") THEN data END"
}

// Message is a message of a file.
type Message struct {
	Topic int64 // number of the topic; in a damaged file there may be no topic with this number
	At    int64 // nanoseconds since 1970
	Data  []byte
}

// Cursor walks over messages in time order; messages with equal times come in the order of writing.
//
// With an index, one statement returns all messages. Without an index, and after damage, the cursor is
// careful: one statement sorts times and rows, on disk if there are many, and another one fetches each
// message by its row. An error of the one statement is not returned: the careful cursor meets it again.
type Cursor struct {
	r       *Reader
	q       Query
	rows    *statement // messages, or places if careful
	fetch   *statement // the message of a place; nil unless careful
	careful bool
	msg     Message // of the latest row
	count   int64   // rows so far
	bytes   int64   // data so far
	ended   error   // what Next returns from now on
}

// Messages returns a cursor. ctx interrupts sorting, if there is no index. The caller has to close it.
func (r *Reader) Messages(ctx context.Context, q Query) (*Cursor, error) {
	q.limit = r.maxRows()
	c := &Cursor{r: r, q: q, careful: !r.indexed}
	return c, c.begin(ctx)
}

// begin starts the statements.
func (c *Cursor) begin(ctx context.Context) error {
	columns := c.q.columns()
	if c.careful {
		columns = "rowid"
	} else {
		ctx = context.WithoutCancel(ctx) // each row comes soon, and SQLite would take longer for it
	}
	var err error
	if c.rows, err = c.r.prepare(ctx, c.q.statement(columns)); err != nil {
		return err
	}
	if c.careful {
		c.fetch, err = c.r.prepare(ctx, "SELECT "+c.q.columns()+" FROM messages WHERE rowid = ?")
	}
	c.rows.query(ctx)
	return err
}

// Next returns the next message. It is valid until the next call. The error is io.EOF at the end;
// after one that is ErrCorrupt the next call continues after the damage.
func (c *Cursor) Next(ctx context.Context) (*Message, error) {
	for c.ended == nil {
		m, err := c.next(ctx)
		switch {
		case ctx.Err() != nil:
			c.ended = ctx.Err()
		case err == nil:
			c.count++
			c.bytes += int64(len(m.Data))
			if c.count >= c.r.maxRows() || c.bytes > c.r.size {
				c.ended = fmt.Errorf("%w: has more messages than room for them", ErrCorrupt)
			} else if c.q.Topics == nil || slices.Contains(c.q.Topics, m.Topic) {
				return m, nil
			}
		case errors.Is(err, io.EOF):
			c.ended = err
		case !c.careful:
			c.careful = true
			c.rows.close()
			c.q.skip = c.count
			if e := c.begin(ctx); e != nil {
				c.ended = errors.Join(err, explain(e))
			}
		case c.rows.failed: // the place of the next message is unknown
			c.ended = err
		default:
			return nil, err
		}
	}
	ended := c.ended
	if ctx.Err() == nil {
		c.ended = io.EOF // each error is returned once
	}
	return nil, ended
}

// next returns the next message, of any topic.
func (c *Cursor) next(ctx context.Context) (*Message, error) {
	v, err := c.rows.next()
	if err != nil {
		return nil, err
	}
	at := v[0]
	if !c.careful {
		return c.message(at, v[1:], 0)
	}
	row, _ := v[1].(int64)
	c.fetch.query(ctx, row)
	v, err = c.fetch.next()
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: the index has more than the table", ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("message %d: %w", row, err)
	}
	return c.message(at, v, row)
}

// message returns the message of a time, a topic and data, until the next call. Its errors tell the row.
func (c *Cursor) message(at driver.Value, v []driver.Value, row int64) (*Message, error) {
	var isTime, isTopic bool
	c.msg = Message{}
	if c.msg.At, isTime = at.(int64); !isTime {
		return nil, fmt.Errorf("%w: message %d has the time %v", ErrCorrupt, row, at)
	}
	if c.msg.Topic, isTopic = v[0].(int64); !isTopic {
		return nil, fmt.Errorf("%w: message %d has the topic %v", ErrCorrupt, row, v[0])
	}
	switch data := v[1].(type) {
	case []byte:
		c.msg.Data = data
	case string:
		c.msg.Data = []byte(data)
	case nil:
	default:
		return nil, fmt.Errorf("%w: message %d has a number as its data", ErrCorrupt, row)
	}
	return &c.msg, nil
}

// Close ends the cursor.
func (c *Cursor) Close() {
	c.rows.close()
	c.fetch.close()
}

// statement is a compiled query and its rows. It bypasses package database/sql, which copies each
// value once more.
type statement struct {
	stmt   driver.Stmt
	rows   driver.Rows
	dest   []driver.Value
	err    error // error of query, which next returns
	failed bool  // next returned an error
}

// prepare compiles a query.
func (r *Reader) prepare(ctx context.Context, text string) (*statement, error) {
	s := &statement{}
	err := r.db.conn.Raw(func(conn any) (err error) {
		// modernc.org/sqlite implements it
		s.stmt, err = conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
		return err
	})
	return s, explain(err)
}

// query begins the rows for arguments. It reads the first row already, whose error next returns.
func (s *statement) query(ctx context.Context, args ...int64) {
	s.end()
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	// modernc.org/sqlite implements it
	s.rows, s.err = s.stmt.(driver.StmtQueryContext).QueryContext(ctx, named)
	if s.err == nil {
		s.dest = make([]driver.Value, len(s.rows.Columns()))
	}
}

// next returns the values of the next row, until the next call.
func (s *statement) next() ([]driver.Value, error) {
	err := s.err
	if err == nil {
		err = s.rows.Next(s.dest)
	}
	if err != nil {
		s.failed = !errors.Is(err, io.EOF)
		return nil, explain(err)
	}
	return s.dest, nil
}

// end ends the rows.
func (s *statement) end() {
	if s.rows != nil {
		_ = s.rows.Close() // next has returned the errors of the rows
		s.rows = nil
	}
}

// close may be called on nil, and twice.
func (s *statement) close() {
	if s == nil || s.stmt == nil {
		return
	}
	s.end()
	_ = s.stmt.Close() // repeats an error that next has returned
	s.stmt = nil
}
