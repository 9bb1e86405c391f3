package sink

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/ros2"
	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options say how a recording is written.
type Options struct {
	Distro mapping.Distro
	// rosbag2.MCAP or rosbag2.SQLite
	Storage string
	// of MCAP's chunks: zstd, lz4 or none; empty means zstd
	Compression string
	// of MCAP's chunks before compression; zero means 768 KiB
	ChunkBytes int
	// goroutines that pack chunks
	Workers int
	// a file ends with the message that makes it this large; zero means one file
	FileBytes int64
	// types of ROS 1 to types of ROS 2
	Rename map[string]string
	// leave latched messages of several publishers apart
	Apart bool
	// connections of the recording, for decisions about it as a whole
	Announced []Announced
}

// Sink writes messages of ROS 1 as a recording of ROS 2.
type Sink struct {
	ctx    context.Context //nolint:containedctx // the Sink is one conversion, whose ctx this is
	o      Options
	dir    *files.Dir // nil: nothing is written
	name   string     // of the recording, what its files are called
	plan   *plan
	routes map[*rosbag.Connection]*route
	conn   *rosbag.Connection // connection of the last message
	route  *route             // route of conn
	cdr    []byte

	file  storage // the file that is written; nil before the first message and between files
	added []int   // number of each topic in file; 0: not added yet
	part  summary // of file
	total summary
	files []rosbag2.File
}

// summary describes a file, or all.
type summary struct {
	count      []uint64 // by number of the topic
	messages   uint64
	start, end uint64
}

// New starts a recording with a name in dir, which the caller commits after Close. Without dir nothing is
// written, and the report says what would be. The end of ctx interrupts
// the start and the completion of files.
func New(ctx context.Context, dir *files.Dir, name string, o Options) (*Sink, error) {
	m, err := mapping.New(o.Distro, mapping.Options{Rename: o.Rename})
	if err != nil {
		return nil, err
	}
	if o.Storage != rosbag2.MCAP && o.Storage != rosbag2.SQLite {
		return nil, fmt.Errorf("unknown storage %q; known are %s and %s", o.Storage, rosbag2.MCAP,
			rosbag2.SQLite)
	}
	p, err := newPlan(ctx, m, o.Apart, o.Announced)
	if err != nil {
		return nil, err
	}
	return &Sink{ctx: ctx, o: o, dir: dir, name: name, plan: p, routes: map[*rosbag.Connection]*route{}}, nil
}

// Write converts a message. A message that does not fit its type is left out, and counted in the report.
func (s *Sink) Write(c *rosbag.Connection, t rosbag.Time, data []byte) error {
	if c != s.conn {
		s.conn, s.route = c, s.routeOf(c)
	}
	r := s.route
	r.In++
	if r.convert == nil {
		return nil
	}
	var err error
	if r.merge != nil {
		full := r.merge.full
		if data, err = r.merge.add(data); r.merge.full && !full {
			r.Warnings = append(r.Warnings,
				"has too many transforms to merge; from the message of "+t.String()+
					" on, messages are left as they are")
		}
	}
	if err == nil {
		s.cdr, err = r.convert.Append(s.cdr[:0], data, &r.Counts)
	}
	if err != nil {
		r.Failed(err)
		return nil // damage is reported, and the rest is converted
	}
	at := uint64(t.Sec)*1e9 + uint64(t.Nsec)
	if err := s.write(r, at); err != nil {
		return fmt.Errorf("topic %s: %w", c.Topic, err)
	}
	r.Out++
	return nil
}

// routeOf returns the route of a connection.
func (s *Sink) routeOf(c *rosbag.Connection) *route {
	r := s.routes[c]
	if r == nil {
		r = s.plan.of(c)
		s.routes[c] = r
	}
	return r
}

// write writes the converted message of a route.
func (s *Sink) write(r *route, at uint64) error {
	if s.file != nil && s.o.FileBytes > 0 && s.file.size() >= s.o.FileBytes {
		if err := s.finishFile(); err != nil {
			return err
		}
	}
	if s.file == nil {
		if err := s.openFile(); err != nil {
			return err
		}
	}
	for r.number >= len(s.added) {
		s.added = append(s.added, 0)
	}
	if s.added[r.number] == 0 {
		n, err := s.file.add(r.topic)
		if err != nil {
			return err
		}
		s.added[r.number] = n
	}
	if err := s.file.write(s.added[r.number], at, s.cdr); err != nil {
		return err
	}
	s.part.add(r.number, at)
	s.total.add(r.number, at)
	return nil
}

func (s *summary) add(topic int, at uint64) {
	for topic >= len(s.count) {
		s.count = append(s.count, 0)
	}
	s.count[topic]++
	if s.messages == 0 {
		s.start, s.end = at, at
	}
	s.messages++
	s.start, s.end = min(s.start, at), max(s.end, at)
}

func (s *Sink) openFile() error {
	var err error
	s.file, err = create(s.ctx, s.dir, s.fileName(len(s.files)), &s.o)
	if err != nil {
		s.file = nil
	}
	s.added, s.part = nil, summary{}
	return err
}

func (s *Sink) fileName(n int) string {
	return fmt.Sprintf("%s_%d%s", s.name, n, extension(s.o.Storage))
}

// finishFile completes the current file, unless the work was interrupted.
func (s *Sink) finishFile() error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	f := rosbag2.File{
		Path: s.fileName(len(s.files)), Start: int64(s.part.start),
		Duration: int64(s.part.end - s.part.start), Messages: s.part.messages,
	}
	if err := s.file.finish(s.ctx, s.metadata(&s.part, []rosbag2.File{f})); err != nil {
		return err
	}
	s.file = nil
	s.files = append(s.files, f)
	return nil
}

// metadata describes files.
func (s *Sink) metadata(sum *summary, files []rosbag2.File) *rosbag2.Metadata {
	md := &rosbag2.Metadata{
		Storage: s.o.Storage, Start: int64(sum.start), Duration: int64(sum.end - sum.start),
		Messages: sum.messages, Files: files, Distro: string(s.o.Distro),
	}
	for _, f := range files {
		md.Paths = append(md.Paths, f.Path)
	}
	topics := make([]rosbag2.Topic, len(s.plan.names))
	for _, r := range s.plan.names {
		topics[r.number] = r.topic
	}
	for i, n := range sum.count {
		if n > 0 {
			md.Topics = append(md.Topics, rosbag2.TopicCount{Topic: topics[i], Messages: n})
		}
	}
	return md
}

// Close completes all files and writes metadata.yaml.
func (s *Sink) Close() error {
	if s.file == nil && len(s.files) == 0 { // a recording has a file at least
		if err := s.openFile(); err != nil {
			return err
		}
	}
	if s.file != nil {
		if err := s.finishFile(); err != nil {
			return err
		}
	}
	if s.dir == nil || s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	f, err := s.dir.Create(rosbag2.MetadataName)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, s.metadata(&s.total, s.files).Text())
	return errors.Join(err, f.Close())
}

// Abort ends the work on a recording that will not be used. It is called instead of Close, or after
// Close failed.
func (s *Sink) Abort() {
	if s.file != nil {
		s.file.abort()
		s.file = nil
	}
}

// Report returns what became of the messages so far.
func (s *Sink) Report() *ros2.Report {
	all := &ros2.Report{}
	for _, r := range s.plan.ordered {
		all.Topics = append(all.Topics, r.TopicReport)
	}
	return all
}

// Files returns the number of files so far.
func (s *Sink) Files() int { return len(s.files) }
