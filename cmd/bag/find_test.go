package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/catalog"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/rosbag"
)

// makeBag writes a bag with a message on each topic, ten seconds apart, and notes.
func makeBag(t *testing.T, path string, start time.Time, topics []string, notes ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, topic := range topics {
		c, err := w.AddConnection(topic, rosbag.Header{
			{Key: "topic", Value: topic},
			{Key: "type", Value: note.Type},
			{Key: "md5sum", Value: note.MD5Sum},
			{Key: "message_definition", Value: note.Definition},
		})
		if err != nil {
			t.Fatal(err)
		}
		at := rosbag.TimeOf(start.Add(time.Duration(i) * 10 * time.Second))
		if err := w.Write(c, at, []byte("\x01\x00\x00\x00x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(notes) > 0 {
		if code, _, stderr := gobag(append([]string{"note", "-q", path}, notes...)...); code != 0 {
			t.Fatal(stderr)
		}
	}
}

// TestFindMarks: bags are found by what gorecord has marked.
func TestFindMarks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeBag(t, filepath.Join(dir, "good.bag"), time.Unix(1_700_000_000, 0), []string{"/x"})
	f, err := os.Create(filepath.Join(dir, "bad.bag"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection(note.MarksTopic, rosbag.Header{{Key: "type", Value: note.Type}, {Key: "md5sum", Value: note.MD5Sum}, {Key: "message_definition", Value: note.Definition}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(150) {
		if err := w.Write(c, rosbag.Time{Sec: 1 + i}, note.Encode(fmt.Sprintf("silent /imu/%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`any(marks, {# startsWith "silent /imu"})`: filepath.Join(dir, "bad.bag") + "\n",
		`"silent /imu/99" in marks`:                filepath.Join(dir, "bad.bag") + "\n",
		`"silent /imu/100" in marks`:               "",
		`len(marks) == 0`:                          filepath.Join(dir, "good.bag") + "\n",
	} {
		if code, stdout, stderr := gobag("find", "-q", "--allow-empty", text, dir); code != 0 || stdout != want {
			t.Errorf("%s: %d %q %s", text, code, stdout, stderr)
		}
	}
}

// catalogFiles returns the files of all catalogs below a directory.
func catalogFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	for _, pattern := range []string{"", "*", "*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern, catalog.Folder, "*.gz"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	return files
}

// TestFind: expressions find the same bags without a catalog, with one, and with one that is out of date.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	day := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	makeBag(t, filepath.Join(dir, "r1/a.bag"), day, []string{"/imu", "/scan"}, "robot=r1", "site=hall 3")
	makeBag(t, filepath.Join(dir, "r1/b.bag"), day.AddDate(0, 0, 1), []string{"/imu", "/odom", "/tf"})
	makeBag(t, filepath.Join(dir, "r2/c.bag"), day.AddDate(0, 0, 2), []string{"/scan"}, "robot=r2", "hall no=4")
	makeBag(t, filepath.Join(dir, "d.bag"), day, nil)
	check := func(title string) {
		t.Helper()
		for expr, want := range map[string]string{
			`topic == "/imu"`:                                                 "r1/a.bag r1/b.bag",
			`topic == "/imu" and type matches "S"`:                            "r1/a.bag r1/b.bag",
			`topic == "/imu" and topic == "/scan"`:                            "",
			`"/imu" in topics and "/scan" in topics`:                          "r1/a.bag",
			`len(topics) == 0`:                                                "d.bag",
			`topics[1] == "/scan"`:                                            "r2/c.bag", // after that of its notes
			`robot == "r2"`:                                                   "r2/c.bag",
			`notes.site == "hall 3"`:                                          "r1/a.bag",
			`notes["hall no"] == "4"`:                                         "r2/c.bag",
			`"std_msgs/String" in types and size > 1e9`:                       "",
			`start >= date("2026-11-21T12:00:00Z")`:                           "r1/b.bag r2/c.bag",
			`start < now() and start > 0 and messages > 2 and duration == 20`: "r1/b.bag",
			`bag startsWith "r1/"`:                                            "r1/a.bag r1/b.bag",
		} {
			for _, place := range []string{dir, "file://" + dir} {
				code, stdout, stderr := gobag("find", expr, place)
				var names []string
				for _, name := range strings.Fields(stdout) {
					names = append(names, strings.TrimPrefix(strings.TrimPrefix(name, "file://"), dir+"/"))
				}
				none := strings.Contains(stderr, "none of 4 bags matches")
				if got := strings.Join(names, " "); got != want || code == 0 == (want == "") || none != (want == "") {
					t.Errorf("%s, %s: exit code %d, %q, want %q\n%s", title, expr, code, got, want, stderr)
				}
			}
		}
	}
	check("without a catalog")
	if code, _, stderr := gobag("index", dir); code != 0 || !strings.Contains(stderr, "4 bags in the catalog, 4 read, 0 dropped") || len(catalogFiles(t, dir)) != 1 {
		t.Errorf("exit code %d, %v\n%s", code, catalogFiles(t, dir), stderr)
	}
	check("with a catalog")
	os.Remove(filepath.Join(dir, "d.bag"))
	makeBag(t, filepath.Join(dir, "e.bag"), day, nil)
	if code, stdout, _ := gobag("find", `len(topics) == 0`, dir); code != 0 || stdout != filepath.Join(dir, "e.bag")+"\n" {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	if code, _, stderr := gobag("index", dir); code != 0 || !strings.Contains(stderr, "4 bags in the catalog, 1 read, 1 dropped") || len(catalogFiles(t, dir)) != 1 {
		t.Errorf("exit code %d, %v\n%s", code, catalogFiles(t, dir), stderr)
	}
	file := catalogFiles(t, dir)[0]
	if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := gobag("find", `robot == "r2"`, dir); code != 3 || !strings.Contains(stdout, "c.bag") || !strings.Contains(stderr, "a damaged file of the catalog") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	gobag("index", dir)
	if code, _, stderr := gobag("index", dir); code != 0 || !strings.Contains(stderr, "4 bags in the catalog, 0 read, 0 dropped") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// TestFindJSON prints what the catalog has of a bag.
func TestFindJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeBag(t, filepath.Join(dir, "a.bag"), time.Unix(1_700_000_000, 123_456_789), []string{"/imu", "/scan"}, "site=hall 3")
	code, stdout, _ := gobag("find", "--json", "true", dir)
	var s catalog.Summary
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, stdout)
	}
	if got := fmt.Sprint(s.Bag, s.Start, s.End-s.Start, s.Messages, s.Topics, s.Notes); got != filepath.Join(dir, "a.bag")+"1.700000000123456e+09 10 4 [{/imu std_msgs/String 1} {/metadata std_msgs/String 2} {/scan std_msgs/String 1}] map[site:hall 3]" {
		t.Error(got)
	}
}

// TestFindFaults: what cannot be searched is told, and does not keep the rest from being searched.
func TestFindFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeBag(t, filepath.Join(dir, "a.bag"), time.Unix(1_700_000_000, 0), []string{"/imu"})
	if err := os.WriteFile(filepath.Join(dir, "no.bag"), []byte("no bag"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for _, command := range []string{"find", "index", "find"} { // the last one with a catalog
		args := []string{command, dir}
		if command == "find" {
			args = []string{command, `topic == "/imu"`, dir}
		}
		code, stdout, stderr := gobag(args...)
		if code != 3 || command == "find" && stdout != filepath.Join(dir, "a.bag")+"\n" || !strings.Contains(stderr, "no.bag: ") {
			t.Errorf("%s: exit code %d\n%s%s", command, code, stdout, stderr)
		}
	}
	for _, test := range []struct{ expr, place, want string }{
		{"true", empty, "no bags there"},
		{"true", filepath.Join(empty, "x"), "no such file"},
		{"true", filepath.Join(dir, "a.bag"), "is not a directory"},
		{"true", "file://" + empty + "/x", "no such directory"},
		{"true", "https://example.org/", "is a web server"},
		{`topc == "/imu"`, dir, "expression, column 1: unknown name topc"},
		{`size > "x"`, dir, "expression, column 6: "},
		{`start > date("yesterday")`, dir, `date("yesterday"): want a time such as`},
	} {
		code, stdout, stderr := gobag("find", test.expr, test.place)
		if code != 1 || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("%s %s: exit code %d\n%s%s", test.expr, test.place, code, stdout, stderr)
		}
	}
}

// TestUploadCommand uploads what waits, or all, with its catalog.
func TestUploadCommand(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), t.TempDir()
	url := "file://" + to
	for _, name := range []string{"a.bag", "b.bag", "c.bag"} {
		makeBag(t, filepath.Join(dir, name), time.Unix(1_700_000_000, 0), []string{"/" + name[:1]})
	}
	code, _, stderr := gobag("upload", dir, url)
	if code != 0 || !strings.Contains(stderr, "no bag waits for "+url) || !strings.Contains(stderr, "gobag upload --all uploads the other 3 bags, too") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	for name, where := range map[string]string{"a.bag": url, "b.bag": "s3://elsewhere"} {
		if err := os.WriteFile(filepath.Join(dir, "."+name+".upload"), []byte(`{"to":"`+where+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	uploaded := func(want string) {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(to, "*.bag"))
		for i := range found {
			found[i] = filepath.Base(found[i])
		}
		if got := strings.Join(found, " "); err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	if code, _, stderr := gobag("upload", dir, url); code != 0 || !strings.Contains(stderr, "Uploaded") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	uploaded("a.bag")
	if code, _, stderr := gobag("upload", "--all", dir, url); code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	uploaded("a.bag c.bag")
	if n := len(catalogFiles(t, to)); n < 2 {
		t.Errorf("%d summaries", n)
	}
	if code, stdout, stderr := gobag("find", `robot != "" and topic == "/c"`, to); code != 0 || stdout != filepath.Join(to, "c.bag")+"\n" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if err := os.WriteFile(filepath.Join(to, "c.bag"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := gobag("upload", "--all", dir, url); code != 3 || !strings.Contains(stderr, "the store has another object of this name") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	for _, args := range [][]string{{dir, to}, {dir, "s3://b/{robot}"}, {dir, "file://" + to + "/nothing"}, {filepath.Join(dir, "no"), url}} {
		if code, _, stderr := gobag(append([]string{"upload"}, args...)...); code != 1 || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit code %d\n%s", args, code, stderr)
		}
	}
}

// TestFindROS2 finds recordings of ROS 2 by their directories, also the place itself, and beside bags.
func TestFindROS2(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, storage := range map[string]string{"a/mcap": "mcap", "b": "sqlite3"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := gobag("convert", demoBag, filepath.Join(dir, name), "--to", "ros2", "-q", "--storage", storage, "--size", "1"); code != 0 {
			t.Fatal(stderr)
		}
	}
	makeBag(t, filepath.Join(dir, "a/c.bag"), time.Unix(1, 0), []string{"/imu"})
	find := func(expr, place string, want ...string) {
		t.Helper()
		code, stdout, stderr := gobag("find", expr, place)
		if code != 0 || !cmp.Equal(strings.Fields(stdout), want) {
			t.Errorf("%s: exit code %d, %s%s; want %v", expr, code, stdout, stderr, want)
		}
	}
	mcap, sqlite := filepath.Join(dir, "a/mcap"), filepath.Join(dir, "b")
	for _, title := range []string{"without a catalog", "with one"} {
		t.Log(title)
		find(`topic == "/odom" and type == "nav_msgs/Odometry"`, dir, mcap, sqlite)
		find(`messages > 100 and size > 1000`, mcap, mcap)
		find(`"/imu" in topics`, dir, filepath.Join(dir, "a/c.bag"))
		if code, _, stderr := gobag("index", dir); code != 0 || !strings.Contains(stderr, "3 bags in the catalog") {
			t.Errorf("exit code %d, %s", code, stderr)
		}
	}
	if code, _, stderr := gobag("index", dir); code != 0 || !strings.Contains(stderr, "3 bags in the catalog, 0 read, 0 dropped") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if _, stdout, stderr := gobag("audit", "--journal", filepath.Join(t.TempDir(), "journal"), dir); strings.Contains(stdout+stderr, "is in the catalog, but not") {
		t.Errorf("audit: %s%s", stdout, stderr)
	}
	for _, hidden := range []string{"a/.half.db3", catalog.Folder + "/x.db3"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, hidden)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, hidden), []byte("SQLite format 3\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	find(`topic == "/odom"`, dir, mcap, sqlite)
}

// TestFindForeignDatabase: databases of other programs, which end in .db3 too, are passed over with a line
// that says so; damaged recordings are told, with the exit code 3.
func TestFindForeignDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeBag(t, filepath.Join(dir, "a.bag"), time.Unix(1, 0), []string{"/imu"})
	photos := filepath.Join(dir, "photos.db3")
	db, err := sql.Open("sqlite", photos)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE photos (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	passedOver := photos + ": is passed over: a database, but no recording of ROS 2\n"
	check := func(wantCode int, wantErr string) {
		t.Helper()
		for _, args := range [][]string{{"find", `"/imu" in topics`, dir}, {"index", dir}, {"find", `"/imu" in topics`, dir}} {
			code, stdout, stderr := gobag(args...)
			if code != wantCode || !strings.Contains(stderr, passedOver) || !strings.Contains(stderr, wantErr) || args[0] == "find" && stdout != filepath.Join(dir, "a.bag")+"\n" {
				t.Errorf("%s: code %d, want %d and %q\n%s%s", args[0], code, wantCode, wantErr, stdout, stderr)
			}
		}
	}
	check(0, "")
	if code, stdout, stderr := gobag("find", "-q", "true", dir); code != 0 || stderr != "" {
		t.Errorf("quiet: code %d\n%s%s", code, stdout, stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "torn.db3"), []byte("SQLite format 3\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(3, filepath.Join(dir, "torn.db3")+": ")
	// A folder that says to be a recording, and is none, is no file of another program.
	claimed := filepath.Join(t.TempDir(), "run")
	if err := os.MkdirAll(claimed, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Rename(photos, filepath.Join(claimed, "photos.db3")),
		os.WriteFile(filepath.Join(claimed, "metadata.yaml"), []byte("version: 5\nstorage_identifier: sqlite3\nrelative_file_paths: [photos.db3]\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if code, stdout, stderr := gobag("find", "true", filepath.Dir(claimed)); code != 3 || !strings.Contains(stderr, claimed+": photos.db3: has no tables topics and messages") {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
}
