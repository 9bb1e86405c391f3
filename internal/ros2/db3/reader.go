package db3

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
)

// Reader reads one file. Cursors of one Reader may not be used at the same time.
type Reader struct {
	db       *database
	size     int64 // of the file, with its journal
	schema   int   // 0: foxy and galactic, which have no version
	distro   string
	topics   []Topic
	metadata *rosbag2.Metadata
	indexed  bool // messages come in time order without sorting
}

// Topic is a topic of a file and its number there.
type Topic struct {
	rosbag2.Topic
	ID int64
}

// Limits on what is read before the messages.
const (
	maxTopics    = 65_535
	maxTextBytes = 16 << 20 // of a definition, a name, or metadata
)

// Options says how to read. The zero value is fine.
type Options struct {
	MaxMessageBytes int // zero means MaxMessageBytes
}

// Open opens the file at path. Nothing is written: not the file, and not beside it, unless a
// recorder left a journal.
func Open(ctx context.Context, path string, o Options) (*Reader, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	journal := journalBytes(path)
	parameters := url.Values{
		"mode": {"ro"}, "_defensive": {"1"},
		"_pragma": {"trusted_schema(0)", "query_only(1)", "cell_size_check(1)"},
	}
	if journal == 0 {
		parameters.Set("immutable", "1")
	}
	db, err := open(ctx, path, parameters)
	if err != nil {
		return nil, err
	}
	r := &Reader{db: db, size: st.Size() + journal}
	if err := r.begin(ctx, o); err != nil {
		return nil, errors.Join(explain(err), db.close())
	}
	return r, nil
}

// journalBytes returns the size of changes that a recorder left beside a file.
func journalBytes(path string) (n int64) {
	for _, end := range []string{"-wal", "-journal"} {
		if st, err := os.Stat(path + end); err == nil {
			n += st.Size()
		}
	}
	return n
}

// begin reads everything but the messages.
func (r *Reader) begin(ctx context.Context, o Options) error {
	limit := MaxMessageBytes
	if o.MaxMessageBytes > 0 {
		limit = min(limit, o.MaxMessageBytes)
	}
	for _, l := range [...]struct{ id, value int }{
		{limitLength, max(limit, maxTextBytes) + 1024},
		{limitAttached, 0},
		{limitWorkerThreads, 0},
	} {
		if _, err := limiter(r.db.conn, l.id, l.value); err != nil {
			return err
		}
	}
	tables, err := r.tables(ctx)
	if err != nil {
		return err
	}
	if !tables["topics"].has("id", "name", "type", "serialization_format") ||
		!tables["messages"].has("topic_id", "timestamp", "data") {
		return ErrForeign
	}
	if tables["schema"].has("schema_version", "ros_distro") {
		row := r.db.conn.QueryRowContext(ctx, "SELECT schema_version, ros_distro FROM schema LIMIT 1")
		if err := row.Scan(&r.schema, &r.distro); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	if err := r.readTopics(ctx, tables); err != nil {
		return err
	}
	if tables["metadata"].has("metadata") {
		if err := r.readMetadata(ctx); err != nil {
			return err
		}
	}
	r.indexed, err = r.hasIndex(ctx)
	return err
}

// columns are the names of the columns of a table.
type columns []string

func (c columns) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(c, n) })
}

// known are the tables that are read.
var known = []string{"schema", "metadata", "topics", "message_definitions", "messages"}

// tables returns the columns of the tables that are read. Views, virtual tables and computed
// columns, which could take any time, are an error.
func (r *Reader) tables(ctx context.Context) (map[string]columns, error) {
	rows, err := r.query(ctx,
		"SELECT name, type, substr(ltrim(coalesce(sql, '')), 1, 40) FROM sqlite_master WHERE type IN ('table', 'view') LIMIT 1000")
	if err != nil {
		return nil, err
	}
	all := map[string]columns{}
	err = each(rows, func() error {
		var name, kind, text string
		if err := rows.Scan(&name, &kind, &text); err != nil {
			return err
		}
		if !slices.Contains(known, name) {
			return nil
		}
		if words := strings.Fields(strings.ToUpper(text)); kind != "table" || len(words) < 2 ||
			words[1] != "TABLE" {
			return fmt.Errorf("%s is not a plain table; recorders make no others", name)
		}
		all[name] = nil
		return nil
	})
	if err != nil {
		return nil, err
	}
	for name := range all {
		if all[name], err = r.columns(ctx, name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// columns returns the columns of a known table.
func (r *Reader) columns(ctx context.Context, table string) (columns, error) {
	rows, err := r.query(ctx, "SELECT name, hidden FROM pragma_table_xinfo('"+table+"')")
	if err != nil {
		return nil, err
	}
	var all columns
	err = each(rows, func() error {
		var name string
		var hidden int
		if err := rows.Scan(&name, &hidden); err != nil {
			return err
		}
		if hidden != 0 {
			return fmt.Errorf("%s has a computed column; recorders make none", table)
		}
		// this column would hide the row number, by which messages are found
		if strings.EqualFold(name, "rowid") {
			return fmt.Errorf("%s has a column %s; recorders make none", table, name)
		}
		all = append(all, name)
		return nil
	})
	return all, err
}

// query runs a statement whose text contains nothing that was read from the file.
func (r *Reader) query(ctx context.Context, statement string) (*sql.Rows, error) {
	return r.db.conn.QueryContext(ctx, statement)
}

// each calls do for each row, and closes rows.
func each(rows *sql.Rows, do func() error) error {
	defer func() { _ = rows.Close() }() // Err has its errors
	for rows.Next() {
		if err := do(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// readTopics reads topics and their definitions, which files before schema 4 lack.
func (r *Reader) readTopics(ctx context.Context, tables map[string]columns) error {
	optional := func(name string) string {
		if tables["topics"].has(name) {
			return "coalesce(" + name + ", '')"
		}
		return "''"
	}
	rows, err := r.query(ctx, "SELECT id, name, type, serialization_format, "+
		optional("offered_qos_profiles")+", "+optional("type_description_hash")+
		" FROM topics ORDER BY rowid LIMIT "+fmt.Sprint(maxTopics+1))
	if err != nil {
		return err
	}
	room := r.size // texts cannot be longer than the file, unless pages are used twice
	err = each(rows, func() error {
		var t Topic
		if err := rows.Scan(&t.ID, &t.Name, &t.Type, &t.Serialization, &t.QoS, &t.Hash); err != nil {
			return err
		}
		room -= int64(len(t.Name) + len(t.Type) + len(t.Serialization) + len(t.QoS) + len(t.Hash))
		if len(r.topics) == maxTopics || room < 0 {
			return fmt.Errorf("%w: more than %d topics, or longer texts than the file", ErrCorrupt, maxTopics)
		}
		r.topics = append(r.topics, t)
		return nil
	})
	if err != nil ||
		!tables["message_definitions"].has("topic_type", "encoding", "encoded_message_definition") {
		return err
	}
	return r.readDefinitions(ctx, tables["message_definitions"].has("type_description_hash"), room)
}

// readDefinitions sets the definition of each topic: that of its type and hash if the file has one,
// otherwise that of its type.
func (r *Reader) readDefinitions(ctx context.Context, hashed bool, room int64) error {
	hash := "''"
	if hashed {
		hash = "coalesce(type_description_hash, '')"
	}
	rows, err := r.query(ctx,
		"SELECT topic_type, encoding, encoded_message_definition, "+hash+" FROM message_definitions LIMIT "+
			fmt.Sprint(maxTopics))
	if err != nil {
		return err
	}
	type definition struct{ encoding, text string }
	type key struct{ name, hash string }
	all := map[key]definition{}
	err = each(rows, func() error {
		var k key
		var d definition
		if err := rows.Scan(&k.name, &d.encoding, &d.text, &k.hash); err != nil {
			return err
		}
		if room -= int64(len(d.text) + len(k.name)); room < 0 {
			return fmt.Errorf("%w: definitions are longer than the file", ErrCorrupt)
		}
		if d.text != "" || d.encoding == "ros2msg" { // a type without fields has an empty text
			all[k] = d
			if d.text != "" || all[key{name: k.name}].text == "" {
				all[key{name: k.name}] = d
			}
		}
		return nil
	})
	for i := range r.topics {
		t := &r.topics[i]
		d, ok := all[key{t.Type, t.Hash}]
		if !ok {
			d = all[key{name: t.Type}]
		}
		t.Encoding, t.Definition = d.encoding, d.text
	}
	return err
}

// readMetadata reads what the recorder wrote at its end. Text that cannot be parsed is ignored: the
// reader can do without it.
func (r *Reader) readMetadata(ctx context.Context) error {
	var text string
	err := r.db.conn.QueryRowContext(ctx,
		"SELECT metadata FROM metadata ORDER BY rowid DESC LIMIT 1").Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		r.metadata, _ = rosbag2.ParseMetadata([]byte(text))
	}
	return err
}

// hasIndex reports whether messages come in time order without sorting.
func (r *Reader) hasIndex(ctx context.Context) (bool, error) {
	rows, err := r.query(ctx, "EXPLAIN QUERY PLAN "+Query{}.statement("topic_id, data"))
	if err != nil {
		return false, err
	}
	sorted := true
	err = each(rows, func() error {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return err
		}
		sorted = sorted && !strings.Contains(detail, "TEMP B-TREE")
		return nil
	})
	return sorted, err
}

// Topics returns the topics in the order of the file. Several may have one name.
func (r *Reader) Topics() []Topic { return r.topics }

// Metadata returns what the recorder wrote into the file at its end, nil if there is none.
func (r *Reader) Metadata() *rosbag2.Metadata { return r.metadata }

// Distro returns the name of the ROS release that wrote the file, empty before humble.
func (r *Reader) Distro() string { return r.distro }

// Schema returns the version of the tables: 0 before humble, 3 in humble, 4 in iron and later.
func (r *Reader) Schema() int { return r.schema }

// Size returns the size of the file, with what a recorder left in a journal beside it.
func (r *Reader) Size() int64 { return r.size }

// maxRows is an upper bound for the number of messages in the file.
func (r *Reader) maxRows() int64 { return r.size/minRowBytes + 1 }

// minRowBytes is a lower bound for the bytes of a message: length, rowid and a header of five bytes.
const minRowBytes = 7

// Close closes the file.
func (r *Reader) Close() error { return r.db.close() }

// IsDatabase reports whether a file begins as databases of SQLite do.
func IsDatabase(head []byte) bool { return strings.HasPrefix(string(head), "SQLite format 3\x00") }
