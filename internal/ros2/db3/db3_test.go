package db3_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros2/db3"
	_ "github.com/gorosbag/gorosbag/internal/ros2/db3/sqlite" // recordings of ROS 2
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
)

// row is a message as tests see it.
type row struct {
	Topic, At int64
	Data      string
}

// write makes a file with topics /a and /b and returns its path.
func write(t testing.TB, rows ...row) string {
	t.Helper()
	return writeWith(t, nil, rows...)
}

// writeWith is write with the messages of each topic in the metadata.
func writeWith(t testing.TB, recorded []rosbag2.TopicCount, rows ...row) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "50% ?#_0.db3") // what URIs escape
	w, err := db3.Create(t.Context(), path, "jazzy")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i, topic := range topics() {
		if n, err := w.Add(topic); err != nil || n != i+1 {
			t.Fatalf("topic %d: number %d, %v", i, n, err)
		}
	}
	for _, r := range rows {
		if err := w.Write(int(r.Topic), r.At, []byte(r.Data)); err != nil {
			t.Fatal(err)
		}
	}
	md := &rosbag2.Metadata{Storage: rosbag2.SQLite, Messages: uint64(len(rows)), Topics: recorded}
	if err := w.Finish(t.Context(), md); err != nil {
		t.Fatal(err)
	}
	return path
}

func topics() []rosbag2.Topic {
	return []rosbag2.Topic{
		{Name: "/a", Type: "std_msgs/msg/String", Serialization: "cdr", QoS: "- durability: 1", Hash: "RIHS01_1", Encoding: "ros2msg", Definition: "string data"},
		{Name: "/b", Type: "std_msgs/msg/String", Serialization: "cdr", Hash: "RIHS01_1", Encoding: "ros2msg", Definition: "string data"},
	}
}

func openFile(t testing.TB, path string) *db3.Reader {
	t.Helper()
	r, err := db3.Open(t.Context(), path, db3.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// read returns all messages and errors.
func read(t testing.TB, r *db3.Reader, q db3.Query) (rows []row, damage []error) {
	t.Helper()
	c, err := r.Messages(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for {
		m, err := c.Next(t.Context())
		switch {
		case errors.Is(err, io.EOF):
			return rows, damage
		case err != nil:
			damage = append(damage, err)
		default:
			rows = append(rows, row{m.Topic, m.At, string(m.Data)})
		}
	}
}

// many returns n rows with times that go up and down, and a few large messages.
func many(n int) (rows []row) {
	for i := range n {
		size := i % 50
		if i%97 == 0 {
			size = 300_000
		}
		rows = append(rows, row{int64(i%2 + 1), int64(1e18) + int64(i/3*10), strings.Repeat(string(rune('a'+i%26)), size)})
	}
	return rows
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	want := many(1000)
	path := write(t, want...)
	r := openFile(t, path)
	var got []rosbag2.Topic
	for _, topic := range r.Topics() {
		got = append(got, topic.Topic)
	}
	if diff := cmp.Diff(topics(), got); diff != "" {
		t.Error(diff)
	}
	rows, damage := read(t, r, db3.Query{})
	if diff := cmp.Diff(want, rows); diff != "" || damage != nil {
		t.Errorf("%v %s", damage, diff)
	}
	if r.Schema() != 4 || r.Distro() != "jazzy" || r.Metadata() == nil || r.Metadata().Messages != 1000 {
		t.Errorf("schema %d, distro %q, metadata %+v", r.Schema(), r.Distro(), r.Metadata())
	}
	counts, err := r.Counts(t.Context())
	if diff := cmp.Diff(map[int64]db3.Count{
		1: {Messages: 500, First: 1e18, Last: 1e18 + 3320}, 2: {Messages: 500, First: 1e18, Last: 1e18 + 3330},
	}, counts); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("files %v, %v: want the database only", entries, err)
	}
}

// TestCounts: what the recorder has counted counts if it fits the file, and both ends tell when topics begin and
// end. Here a topic has its two messages at the beginning, or in the middle of 10,000.
func TestCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rare     int   // row of the first message of topic 2; the next one has the second
		recorded []int // messages of both topics by the metadata
	}{
		"at the beginning":    {0, []int{9998, 2}},
		"at the end":          {9998, []int{9998, 2}},
		"in the middle":       {5000, []int{9998, 2}},
		"too few recorded":    {0, []int{9000, 2}},
		"too many recorded":   {0, []int{9998, 12}},
		"of the wrong topics": {0, []int{9900, 100}},
		"nothing recorded":    {0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := make([]row, 10_000)
			for i := range rows {
				rows[i] = row{1, int64(1e18 + i), ""}
			}
			rows[test.rare].Topic, rows[test.rare+1].Topic = 2, 2
			var recorded []rosbag2.TopicCount
			for i, n := range test.recorded {
				recorded = append(recorded, rosbag2.TopicCount{Topic: topics()[i], Messages: uint64(n)})
			}
			got, err := openFile(t, writeWith(t, recorded, rows...)).Counts(t.Context())
			want := map[int64]db3.Count{}
			for _, m := range rows {
				c, ok := want[m.Topic]
				if !ok {
					c.First = m.At
				}
				c.Messages, c.Last = c.Messages+1, m.At
				want[m.Topic] = c
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

// TestCountsReadsLittle: with what the recorder has counted, messages in the middle are not read.
func TestCountsReadsLittle(t *testing.T) { // not parallel: it counts allocations
	rows := make([]row, 20_000)
	for i := range rows {
		rows[i] = row{1, int64(i), ""}
	}
	r := openFile(t, writeWith(t, []rosbag2.TopicCount{{Topic: topics()[0], Messages: uint64(len(rows))}}, rows...))
	allocated := testing.AllocsPerRun(1, func() {
		if _, err := r.Counts(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if allocated > float64(len(rows)) {
		t.Errorf("%v allocations: it reads all of the file", allocated)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	all := []row{{1, 10, "a"}, {2, 20, "b"}, {1, 20, "c"}, {2, 30, "d"}, {1, 5, "e"}}
	r := openFile(t, write(t, all...))
	for name, c := range map[string]struct {
		q    db3.Query
		want string
	}{
		"all":      {db3.Query{}, "eabcd"},
		"from":     {db3.Query{Start: 20}, "bcd"},
		"until":    {db3.Query{End: 20}, "eabc"},
		"topic":    {db3.Query{Topics: []int64{2}}, "bd"},
		"both":     {db3.Query{Topics: []int64{1, 7}, Start: 10, End: 20}, "ac"},
		"no topic": {db3.Query{Topics: []int64{}}, ""},
		"back":     {db3.Query{Backwards: true}, "dcbae"},
		"back to":  {db3.Query{Topics: []int64{1}, End: 20, Backwards: true}, "cae"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			rows, damage := read(t, r, c.q)
			for _, r := range rows {
				got += r.Data
			}
			if got != c.want || damage != nil {
				t.Errorf("%q, damage %v; want %q", got, damage, c.want)
			}
		})
	}
}

// TestNoData: topics and times come without data, of the topics that are wanted.
func TestNoData(t *testing.T) {
	t.Parallel()
	r := openFile(t, write(t, row{1, 10, "a"}, row{2, 20, "b"}, row{1, 5, "c"}))
	for name, c := range map[string]struct {
		q    db3.Query
		want []row
	}{
		"all":   {db3.Query{NoData: true}, []row{{1, 5, ""}, {1, 10, ""}, {2, 20, ""}}},
		"topic": {db3.Query{NoData: true, Topics: []int64{1}}, []row{{1, 5, ""}, {1, 10, ""}}},
	} {
		if got, damage := read(t, r, c.q); !slices.Equal(got, c.want) || damage != nil {
			t.Errorf("%s: %v, damage %v; want %v", name, got, damage, c.want)
		}
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	if rows, damage := read(t, openFile(t, write(t)), db3.Query{}); rows != nil || damage != nil {
		t.Error(rows, damage)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	w, err := db3.Create(t.Context(), filepath.Join(t.TempDir(), "a.db3"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := w.Write(1, 1, make([]byte, db3.MaxMessageBytes+1)); err == nil || !strings.Contains(err.Error(), "write mcap") {
		t.Error(err)
	}
}

// foreign makes a database with statements of other writers.
func foreign(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "foreign.db3")
	change(t, path, statements...)
	return path
}

// change runs statements on a file.
func change(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path}).String())
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

const (
	foxyTopics   = "CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT NOT NULL,type TEXT NOT NULL,serialization_format TEXT NOT NULL,offered_qos_profiles TEXT NOT NULL)"
	oldTopics    = "CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT NOT NULL,type TEXT NOT NULL,serialization_format TEXT NOT NULL)"
	foxyMessages = "CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER NOT NULL,timestamp INTEGER NOT NULL, data BLOB NOT NULL)"
	foxyIndex    = "CREATE INDEX timestamp_idx ON messages (timestamp ASC)"
	someRows     = "INSERT INTO messages(topic_id, timestamp, data) VALUES (1, 30, 'c'), (1, 10, 'a'), (2, 20, x'62'), (1, 20, 'x')"
)

func TestOldSchemas(t *testing.T) {
	t.Parallel()
	want := []row{{1, 10, "a"}, {2, 20, "b"}, {1, 20, "x"}, {1, 30, "c"}}
	for name, c := range map[string]struct {
		schema     int
		statements []string
	}{
		"dashing":  {0, []string{oldTopics, foxyMessages, foxyIndex, "INSERT INTO topics VALUES (1, '/a', 't', 'cdr'), (2, '/b', 't', 'cdr')", someRows}},
		"foxy":     {0, []string{foxyTopics, foxyMessages, foxyIndex, "INSERT INTO topics VALUES (1, '/a', 't', 'cdr', ''), (2, '/b', 't', 'cdr', '')", someRows}},
		"no index": {0, []string{foxyTopics, foxyMessages, "INSERT INTO topics VALUES (1, '/a', 't', 'cdr', ''), (2, '/b', 't', 'cdr', '')", someRows}},
		"humble": {3, []string{
			"CREATE TABLE schema(schema_version INTEGER PRIMARY KEY,ros_distro TEXT NOT NULL)", "INSERT INTO schema VALUES (3, 'humble')",
			"CREATE TABLE metadata(id INTEGER PRIMARY KEY,metadata_version INTEGER NOT NULL,metadata TEXT NOT NULL)", "INSERT INTO metadata(metadata_version, metadata) VALUES (5, 'a: [')",
			foxyTopics, foxyMessages, foxyIndex, "INSERT INTO topics VALUES (1, '/a', 't', 'cdr', ''), (2, '/b', 't', 'cdr', '')", someRows,
		}},
		"WAL": {0, []string{"PRAGMA journal_mode=WAL", foxyTopics, foxyMessages, foxyIndex, "INSERT INTO topics VALUES (1, '/a', 't', 'cdr', ''), (2, '/b', 't', 'cdr', '')", someRows}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := openFile(t, foreign(t, c.statements...))
			rows, damage := read(t, r, db3.Query{})
			if diff := cmp.Diff(want, rows); diff != "" || damage != nil || r.Schema() != c.schema {
				t.Errorf("schema %d, damage %v %s", r.Schema(), damage, diff)
			}
			rows, _ = read(t, r, db3.Query{Topics: []int64{1}, Start: 20})
			if diff := cmp.Diff([]row{{1, 20, "x"}, {1, 30, "c"}}, rows); diff != "" {
				t.Error(diff)
			}
			if r.Topics()[1].Name != "/b" || r.Topics()[1].Type != "t" {
				t.Error(r.Topics())
			}
		})
	}
}

// TestCrashedRecorder reads what is in a write-ahead log only.
func TestCrashedRecorder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "live.db3")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range []string{"PRAGMA journal_mode=WAL", foxyTopics, foxyMessages, foxyIndex, "INSERT INTO topics VALUES (1, '/a', 't', 'cdr', '')", someRows} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	left := filepath.Join(t.TempDir(), "left.db3") // as a crash leaves both files
	for _, end := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(left+end, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if rows, damage := read(t, openFile(t, left), db3.Query{}); len(rows) != 4 || damage != nil {
		t.Errorf("%d messages, damage %v", len(rows), damage)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	topic := "INSERT INTO topics VALUES (1, '/a', 't', 'cdr', '')"
	for name, c := range map[string]struct {
		statements []string
		want       string
	}{
		"other program": {[]string{"CREATE TABLE a(b)"}, "no tables topics and messages"},
		"view": {[]string{foxyTopics, topic, "CREATE VIEW messages AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) " +
			"SELECT i AS id, 1 AS topic_id, i AS timestamp, zeroblob(1000000) AS data FROM n"}, "messages is not a plain table"},
		"virtual":  {[]string{foxyTopics, topic, "CREATE VIRTUAL TABLE messages USING fts5(topic_id, timestamp, data)"}, "messages is not a plain table"},
		"computed": {[]string{foxyTopics, topic, "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data AS (zeroblob(900000000)))"}, "computed column"},
		"row":      {[]string{foxyTopics, topic, "CREATE TABLE messages(RowID INTEGER, topic_id, timestamp, data)"}, "has a column RowID"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := db3.Open(t.Context(), foreign(t, c.statements...), db3.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want %q", err, c.want)
			}
		})
	}
	t.Run("no database", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a.db3")
		if err := os.WriteFile(path, bytes.Repeat([]byte("no"), 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := db3.Open(t.Context(), path, db3.Options{}); !errors.Is(err, db3.ErrNotDatabase) {
			t.Error(err)
		}
	})
}

// TestDamagedRows checks that bad values cost their own messages only.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	want := many(300)
	for i := range want {
		want[i].At = int64(i + 1)
	}
	path := write(t, want...)
	change(t, path, "UPDATE messages SET timestamp = 'never' WHERE id = 20", "UPDATE messages SET data = 3.5 WHERE id = 30", "UPDATE messages SET topic_id = 'x' WHERE id = 40")
	rows, damage := read(t, openFile(t, path), db3.Query{})
	if len(rows) != 297 || len(damage) != 3 {
		t.Errorf("%d messages, damage %v", len(rows), damage)
	}
	for _, err := range damage {
		if !errors.Is(err, db3.ErrCorrupt) {
			t.Error(err)
		}
	}
}

// TestDamagedPages overwrites the pages of one large message: others survive.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	want := many(200)
	marked := strings.Repeat("MARK", 100_000)
	want[100].Data = marked
	path := write(t, want...)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 32768
	for at := page; at+page <= len(text); at += page { // overflow pages: number of the next page, then data
		if bytes.HasPrefix(text[at+4:], []byte("MARKMARK")) || bytes.HasPrefix(text[at+5:], []byte("MARKMARK")) ||
			bytes.HasPrefix(text[at+6:], []byte("MARKMARK")) || bytes.HasPrefix(text[at+7:], []byte("MARKMARK")) {
			binary.BigEndian.PutUint32(text[at:], 1<<30)
		}
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	rows, damage := read(t, openFile(t, path), db3.Query{})
	if len(rows) != 199 || len(damage) != 1 || !errors.Is(damage[0], db3.ErrCorrupt) || !strings.Contains(damage[0].Error(), "message 101") {
		t.Errorf("%d messages, damage %v", len(rows), damage)
	}
}

func TestMessageLimit(t *testing.T) {
	t.Parallel()
	path := foreign(t, foxyTopics, foxyMessages, foxyIndex, "INSERT INTO messages(topic_id, timestamp, data) VALUES (1, 1, zeroblob(20000000)), (1, 2, 'b')",
		"INSERT INTO topics VALUES (1, '/a', 't', 'cdr', '')")
	r, err := db3.Open(t.Context(), path, db3.Options{MaxMessageBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, damage := read(t, r, db3.Query{})
	if len(rows) != 1 || len(damage) != 1 || !errors.Is(damage[0], db3.ErrCorrupt) {
		t.Errorf("%d messages, damage %v", len(rows), damage)
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	r := openFile(t, write(t, many(1000)...))
	ctx, cancel := context.WithCancel(t.Context())
	c, err := r.Messages(ctx, db3.Query{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	for err == nil {
		_, err = c.Next(ctx)
	}
	if errors.Is(err, io.EOF) {
		t.Error("read to the end")
	}
}

// TestStockSQLite checks a file with the sqlite3 program, and with the statement of rosbag2.
func TestStockSQLite(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("needs sqlite3")
	}
	all := many(500)
	path := write(t, all...)
	out, err := exec.CommandContext(t.Context(), program, "-readonly", path, "PRAGMA integrity_check",
		"SELECT data, timestamp, topics.name, messages.id FROM messages JOIN topics ON messages.topic_id = topics.id WHERE timestamp > 0 ORDER BY messages.timestamp, messages.id").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if lines[0] != "ok" || len(lines) != 501 {
		t.Fatalf("%q and %d lines", lines[0], len(lines)-1)
	}
	for i, r := range all {
		if want := fmt.Sprintf("%s|%d|%s|%d", r.Data, r.At, topics()[r.Topic-1].Name, i+1); lines[i+1] != want {
			t.Fatalf("line %d is %.80s; want %.80s", i+1, lines[i+1], want)
		}
	}
}

// FuzzReader checks that damaged files end, and give out no more than they have.
func FuzzReader(f *testing.F) {
	for _, n := range []int{0, 3, 60} {
		path := filepath.Join(f.TempDir(), "a.db3")
		change(f, path, "PRAGMA page_size=512", foxyTopics, foxyMessages, foxyIndex, "INSERT INTO topics VALUES (1, '/a', 't', 'cdr', ''), (2, '/b', 't', 'cdr', '')")
		for range n {
			change(f, path, someRows)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "a.db3")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := db3.Open(t.Context(), path, db3.Options{})
		if err != nil {
			return
		}
		defer r.Close()
		c, err := r.Messages(t.Context(), db3.Query{})
		if err != nil {
			return
		}
		defer c.Close()
		size := 0
		for {
			m, err := c.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				size += len(m.Data)
			}
		}
		if size > len(text) {
			t.Errorf("%d bytes of messages in a file of %d", size, len(text))
		}
		_, _ = r.Counts(t.Context()) // may fail as the above may
	})
}

// TestCountsFindDamage: damage at either end of the file, and messages of no topic of the file, are found also
// where the recorder has counted.
func TestCountsFindDamage(t *testing.T) {
	t.Parallel()
	const n = 10_000
	for name, test := range map[string]struct{ damaged, foreign int }{
		"at the beginning": {damaged: 100},
		"at the end":       {damaged: n - 100},
		"of no topic":      {foreign: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := make([]row, n)
			for i := range rows {
				rows[i] = row{1, int64(1e18 + i), fmt.Sprintf("message %d.", i)}
			}
			path := writeWith(t, []rosbag2.TopicCount{{Topic: topics()[0], Messages: n}}, rows...)
			if test.damaged > 0 {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				page := bytes.LastIndex(data, fmt.Appendf(nil, "message %d.", test.damaged)) / 32768 * 32768 // of the writer
				copy(data[page:], bytes.Repeat([]byte{0xff}, 600))
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if test.foreign > 0 {
				change(t, path, fmt.Sprintf("UPDATE messages SET topic_id = 7 WHERE id <= %d", test.foreign))
			}
			counts, err := openFile(t, path).Counts(t.Context())
			if !errors.Is(err, db3.ErrCorrupt) {
				t.Errorf("%v %v", counts, err)
			}
			if test.foreign > 0 && counts[1].Messages != n-uint64(test.foreign) {
				t.Errorf("%v; the other messages count", counts)
			}
		})
	}
}
