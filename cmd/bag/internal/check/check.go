// Package check verifies recordings: records, the index against the messages, checksums, and
// message definitions.
//
// The memory of a check is proportional to the number of chunks and connections, not of messages. Beside that
// it holds one unpacked chunk for the scan and one for each of Options.Workers, at most 8 MiB of the index
// section and, with Options.Deep, about 64 MiB of messages and the unpacked chunks that they are in.
package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options says how thorough a check is. The zero value is ready to use.
type Options struct {
	Deep    bool // decode every message
	Workers int  // goroutines that unpack chunks and decode messages; zero means 1
	// MaxChunkBytes is that of bagfmt.ReaderOptions.
	MaxChunkBytes int64
	// Growing, if not nil, is asked at the end whether the file is being recorded: then what its end
	// lacks is no damage.
	Growing func() bool
	// Recording is the directory of a recording of ROS 2, of which Source compares the counts; nil for none.
	Recording *rosbag2.Recording
	// UnwrapKey is that of bagfmt.ReaderOptions. It is called once.
	UnwrapKey func(rosbag.Encryption) ([]byte, error)
}

// Check checks a file of size bytes: a bag of any version, or an MCAP file with messages of ROS 1. A
// bagfmt.Scanner reads both of them in file order; after it, chunks are compared with the index that a
// bagfmt.Reader has opened. Check returns an error if the file is neither of the two or cannot be read, or if
// ctx is done.
func Check(ctx context.Context, r io.ReaderAt, size int64, o Options) (*Report, error) {
	c := newChecker(ctx, o, &Report{Size: size})
	var key []byte
	unwrap := rememberKey(o.UnwrapKey, &key)
	reader, err := bagfmt.NewReader(r, size, bagfmt.ReaderOptions{
		MaxChunkBytes: o.MaxChunkBytes, IndexOnly: true, FutureVersion: true, Interrupted: ctx.Err,
		UnwrapKey: unwrap,
	})
	if err != nil && !errors.Is(err, rosbag.ErrCorrupt) && !errors.Is(err, rosbag.ErrUnindexed) &&
		!errors.Is(err, rosbag.ErrLimit) {
		return nil, err
	}
	opened := err
	var head bagfmt.BagHeader
	var headErr error
	input := r
	if opened == nil {
		if reader.MCAP() == nil { // an MCAP file has no bag header
			head, headErr = bagfmt.ReadBagHeader(r, size)
		}
		if input, err = keepTail(r, reader.IndexPos(), size); err != nil {
			return nil, err
		}
	}
	scanner, err := bagfmt.NewScanner(&contextReader{ctx: ctx, r: io.NewSectionReader(input, 0, size)},
		bagfmt.ScannerOptions{
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
	v := newVerification(reader, c.o.Workers)
	defer v.wg.Wait()
	if err := c.scan(scanner, v); err != nil {
		return nil, err
	}
	v.finish(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case scanner.Version() < "2" &&
		(opened == nil || errors.Is(opened, rosbag.ErrUnindexed) && !errors.Is(opened, rosbag.ErrCorrupt)):
		c.report.Indexed = opened == nil // bags of releases that made no index need none
	case opened != nil:
		c.damage(opened)
		for _, err := range c.orphans {
			c.damage(err)
		}
	default:
		c.report.Indexed = true
		if end := scanner.Offset(); end < size && len(c.report.Damage) == 0 {
			c.add(Damage{
				Offset: Offset(end),
				What:   fmt.Sprintf("%s at %d after the end of the bag", wording.Plural(size-end, "byte"), end),
				Advice: adviceBehind,
			})
		}
		c.header(&head, headErr, reader)
		c.index(reader, v.found)
	}
	conns := scanner.Connections()
	if c.report.Indexed && reader != nil {
		conns = reader.Connections()
	}
	c.definitions(conns)
	if o.Growing != nil && o.Growing() {
		c.report.Growing = true
		c.report.Damage = slices.DeleteFunc(c.report.Damage, func(d Damage) bool {
			_, open := c.open[d.What]
			return open
		})
	}
	c.finish()
	return c.report, nil
}

// rememberKey returns a function that calls unwrap until it returns a key, stores that in key, and from then
// on returns copies of it.
func rememberKey(
	unwrap func(rosbag.Encryption) ([]byte, error), key *[]byte,
) func(rosbag.Encryption) ([]byte, error) {
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
		return bytes.Clone(*key), nil // the caller overwrites what it gets
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
	// open has the texts of damage that a file has while it is recorded: it lacks an index, its last
	// record is not complete.
	open  map[string]struct{}
	types msgdef.Cache
}

func newChecker(ctx context.Context, o Options, r *Report) *checker {
	o.Workers = max(o.Workers, 1)
	r.Damage, r.Warnings = []Damage{}, []Warning{}
	return &checker{
		ctx: ctx, o: o, report: r, seen: make(map[location]struct{}),
		open: make(map[string]struct{}), counts: make(map[*rosbag.Connection]*connState),
	}
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
	before Offset // that message is before this offset
	time   string
}

// add notes a time of a message.
func (o *oddTimes) add(number uint64, before Offset, secs, nsecs uint32) {
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
	text := fmt.Sprintf("message of %s%s: %s is %s", conn.Topic, o.before.asEnd(), what, o.time)
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

// scan reads all records from front to back, which checks their structure and the
// checksums of chunks. It reports its progress to v.
func (c *checker) scan(s *bagfmt.Scanner, v *verification) error {
	deep := newDeep(c)
	defer deep.stop()
	for {
		m, err := s.Next()
		v.reached(c.ctx, s.Offset())
		switch {
		case errors.Is(err, io.EOF):
			c.report.Connections = len(s.Connections())
			deep.finish()
			for conn, st := range c.counts {
				st.oddTimes.report(c, conn, "its time")
				// a mark has the time of what it is about, which is past
				if st.backwards > 0 && conn.Topic != note.MarksTopic {
					c.warn(conn.Topic, "%s of connection %d out of the order of time",
						wording.Plural(st.backwards, "message"), conn.ID)
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
		before := Offset(s.Offset())
		st.oddTimes.add(c.report.Messages, before, m.Time.Sec, m.Time.Nsec)
		deep.add(m, st, before)
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
	return errors.As(err, &bad) && bad.Op == rosbag.OpMessage &&
		strings.Contains(bad.Reason, "unknown connection")
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
		c.add(Damage{Offset: Offset(r.IndexPos()), Advice: adviceIndex, What: fmt.Sprintf(
			"index section at %d: leads to %s, the chunks hold %d", r.IndexPos(),
			wording.Plural(read, "message"), c.report.Messages)})
	}
	c.report.Messages = max(c.report.Messages, read)
	used := make(map[*rosbag.Connection]uint64)
	for i := range r.NumSpans() {
		chunk := r.Span(i)
		for _, n := range chunk.Counts {
			used[n.Conn] += uint64(n.Count)
		}
		if _, known := c.seen[location{Offset(chunk.Pos), rosbag.OpChunk}]; known {
			continue
		}
		f := &found[i]
		switch {
		case f.IndexErr != nil:
			c.indexDamage(f.IndexErr)
		case f.Last.IsZero() && f.First.IsZero(): // no messages
		case c.report.isMCAP() && !f.First.Before(chunk.Start) && !chunk.End.Before(f.Last):
			// beside those of other encodings
		case f.First != chunk.Start || f.Last != chunk.End:
			c.add(Damage{Offset: Offset(chunk.Pos), Advice: adviceIndex, What: fmt.Sprintf(
				"chunk info of the chunk at %d: from %s to %s, its index data from %s to %s", chunk.Pos,
				chunk.Start, chunk.End, f.First, f.Last)})
		}
	}
	for _, conn := range r.Connections() {
		if used[conn] == 0 {
			c.warn(conn.Topic, "connection %d has no messages", conn.ID)
		}
	}
}

// indexDamage reports an error of reading through the index. If the scan could read the
// chunk, only the index is damaged. Where the scan found messages of unknown connections, the
// reader, which has all connections, knows whether messages are lost.
func (c *checker) indexDamage(err error) {
	var bad *rosbag.CorruptError
	if errors.As(err, &bad) && bad.Op == rosbag.OpChunk {
		if _, known := c.seen[location{Offset(bad.Offset), bad.Op}]; !known && len(c.orphans) == 0 {
			e := *bad
			e.Recovered = true
			err = &e
		}
	}
	c.damage(err)
}
