// Package bagcheck verifies bags: records, the index against the messages, checksums, and
// message definitions.
package bagcheck

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/msgtypes"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options says how thorough a check is. The zero value is ready to use.
type Options struct {
	Deep    bool // decode every message
	Workers int  // goroutines that unpack chunks and decode messages; zero means 1
	// MaxChunkBytes is that of bagfmt.ReaderOptions.
	MaxChunkBytes int64
	// UnwrapKey is that of bagfmt.ReaderOptions. It is called once.
	UnwrapKey func(rosbag.Encryption) ([]byte, error)
}

// maxDamage bounds the list of a Report.
const maxDamage = 10_000

// Report is what a check found.
type Report struct {
	Version     string    `json:"version"`
	Size        int64     `json:"size"`
	Indexed     bool      `json:"indexed"`
	Encrypted   bool      `json:"encrypted,omitempty"`
	Chunks      int       `json:"chunks,omitempty"` // of an indexed bag
	Connections int       `json:"connections"`
	Messages    uint64    `json:"messages"` // that could be read
	Sound       bool      `json:"sound"`
	Damage      []Damage  `json:"damage"`
	More        int       `json:"more,omitempty"` // damage beyond the list
	Warnings    []Warning `json:"warnings"`
}

// Damage is one damaged place, or a topic that cannot be read.
type Damage struct {
	Offset int64  `json:"offset"` // in the file; -1 if unknown
	What   string `json:"what"`
	Advice string `json:"advice"`
	Lost   bool   `json:"lost"` // messages are, or may be, lost
	// LeftOut: nothing is damaged, but a topic has messages that cannot be read.
	LeftOut bool `json:"left_out,omitempty"`
}

// Warning is an irregularity that does not make a bag unusable.
type Warning struct {
	Topic string `json:"topic,omitempty"`
	What  string `json:"what"`
}

// Advice for the kinds of damage.
const (
	adviceIndex   = "gobag reindex makes a new index"
	adviceLost    = "gobag reindex keeps the other messages"
	adviceEnd     = "gobag reindex keeps what is before"
	adviceBehind  = "not part of the bag; gobag reindex leaves it out"
	adviceType    = "the messages cannot be read by their definition; where they are from may have the right one"
	adviceChunk   = "a larger --max-chunk unpacks it; the bag may be sound"
	adviceTime    = "programs take it for different times; the rest of the message is as it was"
	adviceForeign = "they are no messages of ROS 1; the other topics are read"
	adviceMessage = "the message does not fit its definition"
)

// nothingLost is put in front of adviceIndex if no other damage has lost messages.
const nothingLost = "no message is lost; "

// Check checks the bag of size bytes. It returns an error if the file is not a bag or cannot
// be read, or if ctx is done.
func Check(ctx context.Context, r io.ReaderAt, size int64, o Options) (*Report, error) {
	o.Workers = max(o.Workers, 1)
	c := &checker{ctx: ctx, o: o, report: &Report{Size: size, Damage: []Damage{}, Warnings: []Warning{}}}
	var key []byte
	unwrap := rememberKey(o.UnwrapKey, &key)
	reader, err := bagfmt.NewReader(r, size, bagfmt.ReaderOptions{
		MaxChunkBytes: o.MaxChunkBytes, IndexOnly: true, FutureVersion: true, Interrupted: ctx.Err, UnwrapKey: unwrap,
	})
	if err != nil && !errors.Is(err, rosbag.ErrCorrupt) && !errors.Is(err, rosbag.ErrUnindexed) && !errors.Is(err, rosbag.ErrLimit) {
		return nil, err
	}
	opened := err
	var head bagfmt.BagHeader
	var headErr error
	input := r
	if opened == nil {
		if reader.Info().Format != "mcap" {
			head, headErr = bagfmt.ReadBagHeader(r, size)
		}
		if input, err = keepTail(r, reader.IndexPos(), size); err != nil {
			return nil, err
		}
	}
	scanner, err := bagfmt.NewScanner(&contextReader{ctx: ctx, r: io.NewSectionReader(input, 0, size)}, bagfmt.ScannerOptions{
		MaxChunkBytes: o.MaxChunkBytes, FutureVersion: true, Interrupted: ctx.Err, UnwrapKey: unwrap,
	})
	clear(key)
	switch {
	case err == nil:
	case opened != nil && errors.Is(err, rosbag.ErrCorrupt): // the bag header is damaged
		c.report.Version = "2.0"
		c.damage(opened)
		c.finish()
		return c.report, nil
	default:
		return nil, err
	}
	c.report.Version = scanner.Version()
	c.report.Encrypted = scanner.Encryption() != nil
	v := newVerification(reader, o.Workers)
	defer v.stop()
	if err := c.scan(scanner, v); err != nil {
		return nil, err
	}
	v.finish(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case scanner.Version() < "2" && (opened == nil || errors.Is(opened, rosbag.ErrUnindexed)):
		c.report.Indexed = opened == nil // older bags need no index
	case opened != nil:
		c.damage(opened)
		for _, err := range c.orphans {
			c.damage(err)
		}
	default:
		c.report.Indexed = true
		if end := scanner.Offset(); end < size && len(c.report.Damage) == 0 {
			c.add(Damage{Offset: end, What: fmt.Sprintf("%s at %d after the end of the bag", plural.Of(size-end, "byte"), end), Advice: adviceBehind})
		}
		c.header(&head, headErr, reader)
		c.index(reader, v.found)
	}
	conns := scanner.Connections()
	if c.report.Indexed && reader != nil {
		conns = reader.Connections()
	}
	c.definitions(conns)
	c.finish()
	return c.report, nil
}

// rememberKey returns what asks unwrap once, and keeps the key in key for the next time.
func rememberKey(unwrap func(rosbag.Encryption) ([]byte, error), key *[]byte) func(rosbag.Encryption) ([]byte, error) {
	if unwrap == nil {
		return nil
	}
	return func(e rosbag.Encryption) ([]byte, error) {
		if *key == nil {
			var err error
			if *key, err = unwrap(e); err != nil {
				return nil, err
			}
		}
		return bytes.Clone(*key), nil // who gets it overwrites it
	}
}

// checker is the state of Check.
type checker struct {
	ctx     context.Context //nolint:containedctx // a checker is one call of Check, whose ctx this is
	o       Options
	report  *Report
	seen    map[location]struct{} // reported damage: the scan and the index find the same
	counts  map[*rosbag.Connection]*connState
	orphans []error // of the scan
	lost    bool    // one of the damages has lost messages
	types   msgtypes.Cache
}

type location struct {
	offset int64
	op     rosbag.Op
}

// connState is the state of the scan for one connection.
type connState struct {
	messages  uint64
	last      rosbag.Time
	backwards uint64
	oddTimes  oddTimes
	deep      *deepState
}

const nanosecondsOfSecond = 1_000_000_000

// oddTimes are the times with the nanoseconds of a second or more.
type oddTimes struct {
	count  uint64
	number uint64 // of the message with the first one
	before int64  // that message is before this offset
	time   string
}

// add notes a time of a message.
func (o *oddTimes) add(number uint64, before int64, secs, nsecs uint32) {
	if nsecs < nanosecondsOfSecond {
		return
	}
	if o.count++; o.count == 1 || number < o.number {
		o.number, o.before, o.time = number, before, fmt.Sprintf("%d s and %d ns", secs, nsecs)
	}
}

// report adds the times of a connection to the damage.
func (o *oddTimes) report(c *checker, conn *rosbag.Connection, what string) {
	if o.count == 0 {
		return
	}
	text := fmt.Sprintf("message of %s before offset %d: %s is %s", conn.Topic, o.before, what, o.time)
	if o.count > 1 {
		text += fmt.Sprintf("; and %d more of connection %d", o.count-1, conn.ID)
	}
	c.add(Damage{Offset: o.before, What: text, Advice: adviceTime})
}

// contextReader fails reads after its context is done.
type contextReader struct {
	ctx context.Context //nolint:containedctx // an io.Reader has no other way to get it
	r   io.Reader
}

// Read implements io.Reader.
func (e *contextReader) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	return e.r.Read(p)
}

// damage reports an error of bagfmt, once for each place.
func (c *checker) damage(err error) {
	d := Damage{Offset: -1, What: text(err), Advice: adviceLost, Lost: true}
	at := location{offset: -1}
	var bad *rosbag.CorruptError
	var limit *rosbag.LimitError
	var encoding *rosbag.EncodingError
	switch {
	case errors.As(err, &bad):
		at = location{bad.Offset, bad.Op}
		d.Advice, d.Lost = advice(bad)
	case errors.As(err, &limit):
		at = location{limit.Offset, limit.Op}
		if limit.Op == rosbag.OpChunk {
			d.Advice = adviceChunk
		}
	case errors.As(err, &encoding):
		d.Advice, d.LeftOut = adviceForeign, true
	case errors.Is(err, rosbag.ErrUnindexed):
		d.What, d.Advice, d.Lost = "the bag was not closed and has no index", adviceIndex, false
		at = location{13, rosbag.OpBagHeader}
		if c.report.Version == "mcap" { // not all writers make indexes of all messages
			d.What, at.offset = text(err), 8
		}
	}
	d.Offset = at.offset
	if _, known := c.seen[at]; known && at.offset >= 0 {
		return
	}
	if c.seen == nil {
		c.seen = make(map[location]struct{})
	}
	if len(c.seen) < maxDamage {
		c.seen[at] = struct{}{}
	}
	c.add(d)
}

func (c *checker) add(d Damage) {
	c.lost = c.lost || d.Lost
	if len(c.report.Damage) >= maxDamage {
		c.report.More++
		return
	}
	c.report.Damage = append(c.report.Damage, d)
}

// advice says what to do about damage of a record, and whether messages are lost.
func advice(bad *rosbag.CorruptError) (what string, lost bool) {
	index := bad.Op == rosbag.OpIndexData || bad.Op == rosbag.OpChunkInfo || bad.Op == rosbag.OpBagHeader
	switch {
	case bad.Op == rosbag.OpBagHeader && errors.Is(bad, io.ErrUnexpectedEOF): // what was before the index section is missing, too
		return adviceEnd, true
	case bad.Recovered || index:
		return adviceIndex, false
	case errors.Is(bad, io.ErrUnexpectedEOF):
		return adviceEnd, true
	}
	return adviceLost, true
}

// text returns the text of an error without the package name and the redundant cause.
func text(err error) string {
	return strings.TrimSuffix(err.Error(), ": "+io.ErrUnexpectedEOF.Error())
}

func (c *checker) warn(topic, format string, args ...any) {
	c.report.Warnings = append(c.report.Warnings, Warning{topic, fmt.Sprintf(format, args...)})
}

// finish completes the advice, now that all damage is known, and sorts the report.
func (c *checker) finish() {
	for i := range c.report.Damage {
		d := &c.report.Damage[i]
		if d.Advice == adviceIndex && !c.lost {
			d.Advice = nothingLost + d.Advice
		}
		if c.report.Encrypted {
			d.Advice = strings.Replace(d.Advice, "gobag reindex", "gobag decrypt", 1) // reindex takes no encrypted bag
		}
	}
	slices.SortStableFunc(c.report.Damage, func(a, b Damage) int { return cmp.Compare(a.Offset, b.Offset) })
	slices.SortStableFunc(c.report.Warnings, func(a, b Warning) int { return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.What, b.What)) })
	c.report.Sound = len(c.report.Damage) == 0
}

// scan reads all records from front to back, which checks their structure and the
// checksums of chunks. It reports its progress to v.
func (c *checker) scan(s *bagfmt.Scanner, v *verification) error {
	c.counts = make(map[*rosbag.Connection]*connState)
	deep := newDeep(c)
	defer deep.stop()
	for {
		m, err := s.Next()
		v.reached(c.ctx, s.Offset())
		switch {
		case errors.Is(err, io.EOF):
			c.report.Connections = len(s.Connections())
			deep.stop()
			deep.report()
			for conn, st := range c.counts {
				st.oddTimes.report(c, conn, "its time")
				if st.backwards > 0 {
					c.warn(conn.Topic, "%s of connection %d out of the order of time", plural.Of(st.backwards, "message"), conn.ID)
				}
			}
			return nil
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		case isUnknownConnection(err):
			c.orphans = append(c.orphans, err)
			continue
		case err != nil:
			c.damage(err)
			continue
		}
		st := c.count(m)
		if m.Time.Before(st.last) {
			st.backwards++
		}
		st.last = m.Time
		st.oddTimes.add(c.report.Messages, s.Offset(), m.Time.Sec, m.Time.Nsec)
		deep.add(m, st, s.Offset())
	}
}

// count counts a message, and returns the state of its connection.
func (c *checker) count(m *rosbag.Message) *connState {
	c.report.Messages++
	st := c.counts[m.Conn]
	if st == nil {
		st = &connState{}
		c.counts[m.Conn] = st
	}
	st.messages++
	return st
}

// isUnknownConnection reports whether err is about messages of an unknown connection, which
// may still be found in the index section.
func isUnknownConnection(err error) bool {
	var bad *rosbag.CorruptError
	return errors.As(err, &bad) && bad.Op == rosbag.OpMessage && strings.Contains(bad.Reason, "unknown connection")
}

// index reports what the comparison of the chunks with the index found.
func (c *checker) index(r *bagfmt.Reader, found []bagfmt.VerifiedChunk) {
	c.report.Chunks = r.NumSpans()
	c.report.Connections = len(r.Connections())
	var read uint64
	for i := range found {
		read += found[i].Messages
		if err := found[i].Err; err != nil {
			c.indexDamage(err)
		}
	}
	if read != c.report.Messages && len(c.report.Damage) == 0 && len(c.orphans) == 0 {
		c.add(Damage{Offset: r.IndexPos(), Advice: adviceIndex, What: fmt.Sprintf(
			"index section at %d: leads to %s, the chunks hold %d", r.IndexPos(), plural.Of(read, "message"), c.report.Messages)})
	}
	c.report.Messages = max(c.report.Messages, read)
	used := make(map[*rosbag.Connection]uint64)
	for i := range r.NumSpans() {
		chunk := r.Span(i)
		for _, n := range chunk.Counts {
			used[n.Conn] += uint64(n.Count)
		}
		if _, known := c.seen[location{chunk.Pos, rosbag.OpChunk}]; known {
			continue
		}
		f := &found[i]
		switch {
		case f.IndexErr != nil:
			c.indexDamage(f.IndexErr)
		case f.Last.IsZero() && f.First.IsZero(): // no messages
		case r.MCAP() != nil && !f.First.Before(chunk.Start) && !chunk.End.Before(f.Last): // beside those of other encodings
		case f.First != chunk.Start || f.Last != chunk.End:
			c.add(Damage{Offset: chunk.Pos, Advice: adviceIndex, What: fmt.Sprintf(
				"chunk info of the chunk at %d: from %s to %s, its index data from %s to %s", chunk.Pos, chunk.Start, chunk.End, f.First, f.Last)})
		}
	}
	for _, conn := range r.Connections() {
		if used[conn] == 0 {
			c.warn(conn.Topic, "connection %d has no messages", conn.ID)
		}
	}
}

// indexDamage reports an error of reading through the index. If the scan could read the
// chunk, only the index is damaged.
func (c *checker) indexDamage(err error) {
	var bad *rosbag.CorruptError
	if errors.As(err, &bad) && bad.Op == rosbag.OpChunk {
		if _, known := c.seen[location{bad.Offset, bad.Op}]; !known {
			e := *bad
			e.Recovered = true
			err = &e
		}
	}
	c.damage(err)
}
