package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

var update = flag.Bool("update", false, "write into scripts what gobag prints, where they compare all of it")

func TestMain(m *testing.M) {
	testscript.Main(withoutLeaks{m}, map[string]func(){underTest: obey})
}

// withoutLeaks fails if goroutines are left after the tests.
type withoutLeaks struct{ *testing.M }

func (m withoutLeaks) Run() int {
	code := m.M.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// TestScripts runs testdata/script. Beside the commands of testscript (cmp, stdout, stderr, cp, mkdir and
// others), the scripts have these:
//
//	gobag ARGS... [<FILE]           runs gobag, which has to end with exit code 0; with ! before it, with 1
//	exit CODE gobag ARGS...         runs gobag, which has to end with another one
//	refuses PATTERN gobag ARGS...   runs gobag, which has to end with 1, and write one line, to stderr
//	completes LINE                  asks gobag as a shell does what LINE may go on with; that is on stdout
//	printable gobag ARGS...         runs gobag, which has to print nothing that controls a terminal
//	makebag FILE SPEC [CHANGE...]   makes a bag or an MCAP file as a text says: see spec
//	messages FILE [TOPIC=N...]      the recording has a good index, and these messages and no others
//	complete FILE                   definitions are those of their md5sums, as ROS writes them
//	files DIR [NAME...]             these files are in the directory and below, and no others
//	damage FILE cut N               leaves the first N bytes; with a negative N all but the last
//	damage FILE flip OFFSET         changes a bit there
//	damage FILE replace OLD NEW     replaces bytes everywhere, of Go strings, by as many others
//	damage FILE unindex             says that the bag was not closed
//	database FILE SQL               makes a database of SQLite
//	lock FILE                       locks a file as its recorder does, until the script ends
//
// $DEMO is the demo bag, $BAGS the directory of bags that rosbag has written, $DEFINITIONS that of bags with
// odd definitions.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			for name, path := range map[string]string{
				"DEMO": demoBag, "BAGS": "../../bagfmt/testdata", "DEFINITIONS": "testdata/definitions",
			} {
				abs, err := filepath.Abs(path)
				if err != nil {
					return err
				}
				env.Setenv(name, abs)
			}
			env.Setenv("TZ", "UTC")
			gobag := &child{}
			env.Values[childKey{}] = gobag
			env.Defer(func() {
				if gobag.orders != nil {
					if err := gobag.end(); err != nil {
						env.T().Fatal(err)
					}
				}
			})
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"gobag": func(ts *testscript.TestScript, neg bool, args []string) {
				code := 0
				if neg {
					code = 1
				}
				scriptGobag(ts, code, args)
			},
			"exit":      scriptExit,
			"completes": scriptCompletes,
			"printable": scriptPrintable,
			"refuses":   scriptRefuses,
			"makebag":   scriptMakeBag,
			"messages":  scriptMessages,
			"files":     scriptFiles,
			"complete":  scriptComplete,
			"damage":    scriptDamage,
			"database":  scriptDatabase,
			"lock":      scriptLock,
		},
		RequireUniqueNames: true,
		UpdateScripts:      *update,
	})
}

// scriptGobag runs gobag in the directory of the script.
func scriptGobag(ts *testscript.TestScript, want int, args []string) outcome {
	r := ts.Value(childKey{}).(*child).gobag(ts, args)
	if r.Code != want {
		ts.Fatalf("exit code %d, want %d", r.Code, want)
	}
	return r
}

func scriptCompletes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: completes LINE")
	}
	ts.Setenv("COMP_LINE", args[0])
	r := scriptGobag(ts, 0, nil)
	ts.Setenv("COMP_LINE", "")
	if r.Stderr != "" {
		ts.Fatalf("want nothing on stderr")
	}
}

func scriptPrintable(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[0] != "gobag" {
		ts.Fatalf("usage: printable gobag ARGS...")
	}
	r := ts.Value(childKey{}).(*child).gobag(ts, args[1:])
	if r.Code > 3 {
		ts.Fatalf("exit code %d", r.Code)
	}
	text := r.Stdout + r.Stderr
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
		ts.Fatalf("prints %q", text[i:min(i+10, len(text))])
	}
	if strings.Contains(text, "\ngobag: fine") {
		ts.Fatalf("lets the bag speak")
	}
}

func scriptExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "gobag" {
		ts.Fatalf("usage: exit CODE gobag ARGS...")
	}
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	scriptGobag(ts, code, args[2:])
}

func scriptRefuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "gobag" {
		ts.Fatalf("usage: refuses PATTERN gobag ARGS...")
	}
	r := scriptGobag(ts, 1, args[2:])
	pattern, err := regexp.Compile("^gobag: .*" + args[0] + ".*\n$") // . is no end of a line
	ts.Check(err)
	if r.Stdout != "" || !pattern.MatchString(r.Stderr) {
		ts.Fatalf("want nothing on stdout, and on stderr one line that matches %s", pattern)
	}
}

func scriptMessages(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: messages FILE [TOPIC=N...]")
	}
	r, err := bags.Open(context.Background(), ts.MkAbs(args[0]), bags.Options{})
	ts.Check(err)
	defer func() { ts.Check(r.Close()) }()
	if info := r.Source.Info(); !info.Indexed || info.Format == "bag" && info.Version != "2.0" {
		ts.Fatalf("%s is of version %s, indexed: %v", args[0], info.Version, info.Indexed)
	}
	counts := map[string]int{}
	for m, err := range rosbag.Messages(r.Source, rosbag.Query{}) {
		ts.Check(err)
		counts[m.Conn.Topic]++
	}
	got := []string{}
	for topic, n := range counts {
		got = append(got, fmt.Sprintf("%s=%d", topic, n))
	}
	slices.Sort(got)
	want := slices.Clone(args[1:])
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		ts.Fatalf("messages of %s differ (-want +got):\n%s", args[0], d)
	}
}

func scriptComplete(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: complete FILE")
	}
	r, err := bags.Open(context.Background(), ts.MkAbs(args[0]), bags.Options{})
	ts.Check(err)
	defer func() { ts.Check(r.Close()) }()
	for _, c := range r.Connections() {
		text := c.Header.MessageDefinition()
		typ, err := rosmsg.Parse(c.Header.Type(), text)
		ts.Check(err)
		if typ.MD5Sum() != c.Header.MD5Sum() || strings.Contains(text, "\n\nMSG:") {
			ts.Fatalf("%s has the definition %q", c.Topic, text)
		}
	}
}

func scriptFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: files DIR [NAME...]")
	}
	dir := ts.MkAbs(args[0])
	got := []string{}
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var name string
			name, err = filepath.Rel(dir, path)
			got = append(got, filepath.ToSlash(name))
		}
		return err
	}))
	slices.Sort(got)
	want := slices.Clone(args[1:])
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		ts.Fatalf("files in %s differ (-want +got):\n%s", args[0], d)
	}
}

func scriptDamage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: damage FILE (cut N | flip OFFSET | replace OLD NEW | unindex)")
	}
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	number := func() int {
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		return n
	}
	switch {
	case args[1] == "cut" && len(args) == 3:
		n := number()
		if n < 0 {
			n += len(b)
		}
		b = b[:n]
	case args[1] == "flip" && len(args) == 3:
		b[number()] ^= 1
	case args[1] == "replace" && len(args) == 4:
		from, err1 := strconv.Unquote(`"` + args[2] + `"`)
		to, err2 := strconv.Unquote(`"` + args[3] + `"`)
		ts.Check(errors.Join(err1, err2))
		if len(from) != len(to) || !bytes.Contains(b, []byte(from)) {
			ts.Fatalf("cannot replace %q by %q", from, to)
		}
		b = bytes.ReplaceAll(b, []byte(from), []byte(to))
	case args[1] == "unindex" && len(args) == 2:
		at := bytes.Index(b, []byte("index_pos=")) + len("index_pos=")
		clear(b[at : at+8])
	default:
		ts.Fatalf("damage: how?")
	}
	ts.Check(os.WriteFile(path, b, 0o600))
}

func scriptDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: database FILE SQL")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(errors.Join(err, db.Close()))
}

func scriptLock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lock FILE")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR, 0)
	ts.Check(err)
	ts.Defer(func() { f.Close() })
	if !files.Lock(f) {
		ts.Fatalf("%s is locked by somebody else", args[0])
	}
}

func scriptMakeBag(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: makebag FILE SPEC [CHANGE...]")
	}
	s, err := parseSpec(ts.ReadFile(args[1]), filepath.Dir(ts.MkAbs(args[1])))
	for _, change := range args[2:] {
		if err == nil {
			err = s.change(change)
		}
	}
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.Create(path)
	ts.Check(err)
	write := s.writeBag
	if strings.HasSuffix(path, ".mcap") {
		write = s.writeMCAP
	}
	ts.Check(errors.Join(write(f), f.Close()))
}
