package sink

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/ros2/db3"
	"github.com/gorosbag/gorosbag/internal/ros2/mcapwriter"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
)

// storage is one file of a recording.
type storage interface {
	add(t rosbag2.Topic) (int, error)
	write(topic int, at uint64, data []byte) error
	size() int64
	finish(ctx context.Context, md *rosbag2.Metadata) error
	abort() // instead of finish, or after it failed
}

// extension returns the end of a file's name.
func extension(storage string) string {
	if storage == rosbag2.SQLite {
		return ".db3"
	}
	return ".mcap"
}

// create makes a file in dir; without dir, one that writes nothing.
func create(ctx context.Context, dir *files.Dir, name string, o *Options) (storage, error) {
	if dir == nil {
		return &nothing{}, nil
	}
	f, err := dir.Create(name)
	if err != nil {
		return nil, err
	}
	if o.Storage == rosbag2.SQLite {
		if err := f.Close(); err != nil { // SQLite opens the empty file itself
			return nil, err
		}
		w, err := db3.Create(ctx, dir.Path(name), string(o.Distro))
		return database{w}, err
	}
	m := &mcapFile{
		f: f, w: bufio.NewWriterSize(&interruptible{ctx, f}, 64<<10),
		schemas: map[schemaKey]uint16{},
	}
	m.mcap, err = mcapwriter.New(m.w,
		mcapwriter.Options{
			Profile: "ros2", Compression: o.Compression, ChunkBytes: o.ChunkBytes,
			Workers: o.Workers,
		})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return m, nil
}

// database is a file of the storage sqlite3.
type database struct{ w *db3.Writer }

func (d database) add(t rosbag2.Topic) (int, error) { return d.w.Add(t) }

func (d database) write(topic int, at uint64, data []byte) error {
	return d.w.Write(topic, int64(at), data)
}
func (d database) size() int64 { return d.w.Size() }

func (d database) finish(ctx context.Context, md *rosbag2.Metadata) error {
	return d.w.Finish(ctx, md)
}
func (d database) abort() { d.w.Abort() }

// mcapFile is a file of the storage mcap.
type mcapFile struct {
	f       *os.File
	w       *bufio.Writer
	mcap    *mcapwriter.Writer
	schemas map[schemaKey]uint16
}

// interruptible ends writing with a context: closing a file with tens of thousands of topics takes long.
type interruptible struct {
	ctx context.Context //nolint:containedctx // an io.Writer has no other way to get it
	w   io.Writer
}

// Write implements io.Writer.
func (i *interruptible) Write(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.w.Write(p)
}

type schemaKey struct{ name, definition string }

func (m *mcapFile) add(t rosbag2.Topic) (int, error) {
	key := schemaKey{t.Type, t.Definition}
	schema := m.schemas[key]
	if schema == 0 {
		var err error
		if schema, err = m.mcap.AddSchema(mcapwriter.AnyID, t.Type, t.Encoding,
			[]byte(t.Definition)); err != nil {
			return 0, err
		}
		m.schemas[key] = schema
	}
	id, err := m.mcap.AddChannel(mcapwriter.AnyID, schema, t.Name, t.Serialization, map[string]string{
		"offered_qos_profiles": t.QoS, "topic_type_hash": t.Hash,
	})
	return int(id), err
}

// write leaves the sequence number at 0, as rosbag2 does.
func (m *mcapFile) write(topic int, at uint64, data []byte) error {
	return m.mcap.Write(uint16(topic), 0, at, data)
}
func (m *mcapFile) size() int64 { return m.mcap.Size() }

func (m *mcapFile) finish(_ context.Context, md *rosbag2.Metadata) error {
	if err := m.mcap.AddMetadata("rosbag2",
		map[string]string{"serialized_metadata": md.Inner()}); err != nil {
		return err
	}
	if err := m.mcap.Close(); err != nil {
		return err
	}
	return errors.Join(m.w.Flush(), m.f.Close())
}

func (m *mcapFile) abort() {
	m.mcap.Abort()
	_ = m.f.Close() // it will be removed
}

// nothing counts what it would write.
type nothing struct {
	topics int
	bytes  int64
}

func (n *nothing) add(rosbag2.Topic) (int, error) { n.topics++; return n.topics, nil }
func (n *nothing) write(_ int, _ uint64, data []byte) error {
	n.bytes += int64(len(data))
	return nil
}
func (n *nothing) size() int64                                     { return n.bytes }
func (n *nothing) finish(context.Context, *rosbag2.Metadata) error { return nil }
func (n *nothing) abort()                                          {}
