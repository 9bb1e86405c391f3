package db3

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
)

// schemaVersion is the version that iron and later releases write.
const schemaVersion = 4

// created are the statements that create a file. The definitions of the tables are those of rosbag2. No
// journal protects the file against crashes: it has a temporary name until it is complete.
var created = []string{
	"PRAGMA page_size = 32768", // twice as fast for images as 4096, and still small for small recordings
	"PRAGMA journal_mode = OFF",
	"PRAGMA synchronous = OFF",
	"PRAGMA locking_mode = EXCLUSIVE",
	"BEGIN",
	"CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL)",
	"CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL)",
	"CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL, type_description_hash TEXT NOT NULL)",
	"CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL)",
	"CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL)",
}

const (
	batchRows  = 40        // rows of one statement: twice as fast as one row each
	batchBytes = 128 << 10 // bytes of their messages; a longer message has a statement of its own
)

// Writer writes one file. Its methods may not be called at the same time.
type Writer struct {
	db     *database
	topics int
	types  map[definedType]bool // rows of message_definitions
	rows   []row                // pending rows
	data   []byte               // messages of the pending rows
	bytes  int64                // bytes written so far, roughly
	one    driver.Stmt          // inserts one row; nil before the first
	many   driver.Stmt          // inserts batchRows
	args   []driver.NamedValue
}

// definedType is a type with a definition: types may have several.
type definedType struct{ name, hash string }

// row is a pending message. Its data ends at end in Writer.data.
type row struct {
	topic, at int64
	end       int
}

// Create creates the file at path, which must not exist. distro is the name of the ROS release in the
// file. The caller has to call Finish or Abort.
func Create(ctx context.Context, path, distro string) (*Writer, error) {
	db, err := open(ctx, path, url.Values{"mode": {"rwc"}})
	if err != nil {
		return nil, err
	}
	w := &Writer{
		db: db, types: map[definedType]bool{}, data: make([]byte, 0, batchBytes),
		rows: make([]row, 0, batchRows),
	}
	err = db.run(ctx, created...)
	if err == nil {
		err = w.insert(ctx, "INSERT INTO schema(schema_version, ros_distro) VALUES (?, ?)", schemaVersion,
			distro)
	}
	if err == nil {
		err = w.prepare(ctx)
	}
	if err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}

// insert runs a statement that is too rare to be prepared.
func (w *Writer) insert(ctx context.Context, statement string, args ...any) error {
	_, err := w.db.conn.ExecContext(ctx, statement, args...)
	return explain(err)
}

// prepare compiles the statements that insert messages. They bypass package database/sql, which would
// take as long as the insertion itself.
func (w *Writer) prepare(ctx context.Context) error {
	const first = "INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)"
	w.args = make([]driver.NamedValue, 3*batchRows)
	for i := range w.args {
		w.args[i].Ordinal = i + 1
	}
	return w.db.conn.Raw(func(c any) error {
		conn := c.(driver.ConnPrepareContext) // modernc.org/sqlite implements it
		var err error
		if w.one, err = conn.PrepareContext(ctx, first); err != nil {
			return err
		}
		w.many, err = conn.PrepareContext(ctx, first+strings.Repeat(", (?, ?, ?)", batchRows-1))
		return err
	})
}

// Add adds a topic and returns its number, for Write.
func (w *Writer) Add(t rosbag2.Topic) (int, error) {
	ctx := context.Background()
	w.topics++
	err := w.insert(ctx,
		"INSERT INTO topics(id, name, type, serialization_format, offered_qos_profiles, type_description_hash) VALUES (?, ?, ?, ?, ?, ?)",
		w.topics, t.Name, t.Type, t.Serialization, t.QoS, t.Hash)
	if d := (definedType{t.Type, t.Hash}); err == nil && !w.types[d] {
		w.types[d] = true
		encoding := t.Encoding
		if encoding == "" {
			encoding = "unknown" // as rosbag2 calls it
		}
		err = w.insert(ctx,
			"INSERT INTO message_definitions(topic_type, encoding, encoded_message_definition, type_description_hash) VALUES (?, ?, ?, ?)",
			t.Type, encoding, t.Definition, t.Hash)
	}
	return w.topics, err
}

// Write writes a message; at is in nanoseconds since 1970. It does not keep data.
func (w *Writer) Write(topic int, at int64, data []byte) error {
	if len(data) > MaxMessageBytes {
		return fmt.Errorf("a message of %d bytes; %s stores at most %d, so write %s", len(data),
			rosbag2.SQLite, MaxMessageBytes, rosbag2.MCAP)
	}
	ctx := context.Background()
	if len(w.rows) == batchRows || len(w.data)+len(data) > batchBytes {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	w.bytes += int64(len(data)) + 16 // estimate for keys and lengths
	if len(data) > batchBytes {
		return w.exec(ctx, w.one, w.fill(0, int64(topic), at, data))
	}
	w.data = append(w.data, data...)
	w.rows = append(w.rows, row{int64(topic), at, len(w.data)})
	return nil
}

// flush writes the pending rows: all with one statement if there are as many as that takes, otherwise one
// by one.
func (w *Writer) flush(ctx context.Context) error {
	full := len(w.rows) == batchRows
	start := 0
	for i, r := range w.rows {
		data := w.data[start:r.end:r.end]
		start = r.end
		if full {
			w.fill(i, r.topic, r.at, data)
		} else if err := w.exec(ctx, w.one, w.fill(0, r.topic, r.at, data)); err != nil {
			return err
		}
	}
	w.rows, w.data = w.rows[:0], w.data[:0]
	if full {
		return w.exec(ctx, w.many, w.args)
	}
	return nil
}

// fill sets the arguments of a row of a statement, and returns them.
func (w *Writer) fill(row int, topic, at int64, data []byte) []driver.NamedValue {
	args := w.args[3*row : 3*row+3]
	args[0].Value, args[1].Value, args[2].Value = topic, at, data
	return args
}

// exec runs a statement.
func (w *Writer) exec(ctx context.Context, s driver.Stmt, args []driver.NamedValue) error {
	_, err := s.(driver.StmtExecContext).ExecContext(ctx, args) // modernc.org/sqlite implements it
	return explain(err)
}

// Size returns about how large the file is.
func (w *Writer) Size() int64 { return w.bytes }

// Finish writes the metadata and the index, and closes the file. It does not sync the file.
// After an error the caller has to call Abort.
func (w *Writer) Finish(ctx context.Context, md *rosbag2.Metadata) error {
	if err := w.flush(ctx); err != nil {
		return err
	}
	if err := w.db.run(ctx, "CREATE INDEX timestamp_idx ON messages (timestamp ASC)"); err != nil {
		return err
	}
	if err := w.insert(ctx, "INSERT INTO metadata(metadata_version, metadata) VALUES (?, ?)", rosbag2.Version,
		md.Inner()); err != nil {
		return err
	}
	if err := w.db.run(ctx, "COMMIT"); err != nil {
		return err
	}
	return w.close()
}

// Abort closes the file, which is incomplete then. It may be called after Finish failed.
func (w *Writer) Abort() { _ = w.close() }

// close may be called twice.
func (w *Writer) close() error {
	if w.db == nil {
		return nil
	}
	var all []error
	for _, s := range []driver.Stmt{w.one, w.many} {
		if s != nil {
			all = append(all, s.Close())
		}
	}
	all = append(all, w.db.close())
	w.db, w.one, w.many = nil, nil, nil
	return errors.Join(all...)
}
