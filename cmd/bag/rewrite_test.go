package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/testkit"
)

// piped runs the program with standard input.
func piped(in io.Reader, args ...string) (code int, stdout, stderr string) {
	var o, e bytes.Buffer
	code = run(context.Background(), args, job.NewOutput(in, &o, &e))
	return code, o.String(), e.String()
}

// counts runs gobag info and returns the messages of each topic.
func counts(t *testing.T, path string) map[string]uint64 {
	t.Helper()
	code, stdout, stderr := gobag("info", "--json", path)
	var v struct {
		Version string
		Indexed bool
		Topics  []struct {
			Topic    string
			Messages uint64
		}
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 {
		t.Fatalf("info: code %d, %v, %s", code, err, stderr)
	}
	if v.Version != "2.0" || !v.Indexed {
		t.Errorf("%s is of version %s, indexed: %v", path, v.Version, v.Indexed)
	}
	m := make(map[string]uint64)
	for _, topic := range v.Topics {
		m[topic.Topic] = topic.Messages
	}
	return m
}

// TestRewrite runs each command once and looks at what it made.
func TestRewrite(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string // IN and DIR are replaced
		out  string
		want map[string]uint64
		info string // in gobag info of it
	}{
		"topic":         {[]string{"filter", "IN", "DIR/o.bag", "--topic", "/co*"}, "o.bag", map[string]uint64{"/count": 25}, ""},
		"exclude":       {[]string{"filter", "IN", "DIR/o.bag", "-x", "/count"}, "o.bag", map[string]uint64{"/latched": 1}, ""},
		"regex":         {[]string{"filter", "-e", "IN", "DIR/o.bag", "-t", "/c.*t|/x"}, "o.bag", map[string]uint64{"/count": 25}, ""},
		"type":          {[]string{"filter", "IN", "DIR/o.bag", "--type", "std_msgs/Int??"}, "o.bag", map[string]uint64{"/count": 25}, ""},
		"times":         {[]string{"filter", "IN", "DIR/o.bag", "--start", "+0.99s", "--end", "-0.12s"}, "o.bag", map[string]uint64{"/count": 2, "/latched": 1}, ""},
		"absolute":      {[]string{"filter", "IN", "DIR/o.bag", "--start", "@1795225280.3"}, "o.bag", map[string]uint64{"/count": 4, "/latched": 1}, ""},
		"rename a type": {[]string{"filter", "IN", "DIR/o.bag", "--rename", "/count:std_msgs/*=/n", "--rename", "/latched:x/Y=/l"}, "o.bag", map[string]uint64{"/n": 25, "/latched": 1}, ""},
		"not latched":   {[]string{"filter", "IN", "DIR/o.bag", "--start", "@1795225280.3", "--no-latched"}, "o.bag", map[string]uint64{"/count": 4}, ""},
		"rename":        {[]string{"filter", "IN", "DIR/o.bag", "--rename", "/count:=/n"}, "o.bag", map[string]uint64{"/n": 25, "/latched": 1}, ""},
		"rename with =": {[]string{"filter", "IN", "DIR/o.bag", "--rename", "/count=/n"}, "o.bag", map[string]uint64{"/n": 25, "/latched": 1}, ""},
		"expression":    {[]string{"filter", "IN", "DIR/o.bag", "topic == '/count' and m.data % 7 == 0 and t > 1795225280.3"}, "o.bag", map[string]uint64{"/count": 4}, ""},
		"--expr":        {[]string{"filter", "IN", "DIR/o.bag", "--expr", "m.data == 'hello'"}, "o.bag", map[string]uint64{"/latched": 1}, ""},
		"Python's time": {[]string{"filter", "IN", "DIR/o.bag", "t.to_sec() > 1795225280.3 and t.secs == 1795225280"}, "o.bag", map[string]uint64{"/count": 4}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good, err := os.ReadFile(goodBag)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Dir(write(t, "in.bag", good))
			var args []string
			for _, a := range tc.args {
				if a == "IN" {
					a = goodBag
				}
				args = append(args, strings.Replace(a, "DIR", dir, 1))
			}
			code, stdout, stderr := gobag(args...)
			if code != 0 || stdout != "" || slices.Contains(args, "-q") != (stderr == "") {
				t.Fatalf("code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			out := filepath.Join(dir, tc.out)
			if d := cmp.Diff(tc.want, counts(t, out)); d != "" {
				t.Errorf("messages differ (-want +got):\n%s", d)
			}
			if _, stdout, _ := gobag("info", out); !strings.Contains(stdout, tc.info) {
				t.Errorf("no %q in\n%s", tc.info, stdout)
			}
			for _, n := range names(t, dir) {
				if strings.HasSuffix(n, ".tmp") {
					t.Errorf("%s is left behind", n)
				}
			}
		})
	}
}

// TestRewriteEmptyTopic rewrites a bag that has a connection without messages: only that connection is left out.
func TestRewriteEmptyTopic(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.bag")
	writeSent(t, path, bagfmt.WriterOptions{}, run100())
	in := write(t, "in.bag", withEmptyTopic(t, readFile(t, path), "/empty"))
	for _, command := range []string{"compress", "decompress", "reindex", "convert", "filter", "merge"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out := filepath.Join(dir, "in.bag")
			args := []string{command, "-q", "--output-dir", dir, in}
			switch command {
			case "convert", "filter":
				args = []string{command, "-q", in, out}
			case "merge":
				args = []string{command, "-q", "-o", out, in}
			}
			if code, _, stderr := gobag(args...); code != 0 || stderr != "" {
				t.Fatalf("code %d: %s", code, stderr)
			}
			if code, stdout, _ := gobag("diff", path, out); code != 0 || !strings.HasPrefix(stdout, "Same: 121 messages on 3 topics\n") {
				t.Errorf("code %d\n%s", code, stdout)
			}
		})
	}
}

// TestRefused runs what must not be done: nothing may change.
func TestRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string // DIR is replaced; it has in.bag, there.bag, in.orig.bag and p_9.bag
		want string
	}{
		"pattern":           {[]string{"filter", "-e", "-t", "(", "DIR/in.bag", "DIR/o.bag"}, "--topic: error parsing regexp: missing closing ): `(`"},
		"time":              {[]string{"filter", "--start", "noon", "DIR/in.bag", "DIR/o.bag"}, `--start: "noon": not a time: write seconds`},
		"times":             {[]string{"filter", "--start", "-0s", "--end", "+0s", "DIR/in.bag", "DIR/o.bag"}, "s before --start"},
		"number since 1970": {[]string{"filter", "-s", "1795225280.3", "DIR/in.bag", "DIR/o.bag"}, "write @1795225280.3 for a time since 1970"},
		"-u as the end":     {[]string{"filter", "-u", "1795225280", "DIR/in.bag", "DIR/o.bag"}, "as in rosbag play: for the end write --until @1795225280"},
		"-e as the end":     {[]string{"filter", "-s", "5", "-e", "10", "DIR/in.bag", "DIR/o.bag"}, "10: no such file; -e reads patterns as regular expressions, as in rosbag record: for the end write --until 10"},
		"rename":            {[]string{"filter", "--rename", "/a", "DIR/in.bag", "DIR/o.bag"}, `--rename "/a": want FROM=TO`},
		"pipe and relative": {[]string{"filter", "--start", "+1s", "-", "DIR/o.bag"}, "not known beforehand: give an absolute time"},
		"expression":        {[]string{"filter", "DIR/in.bag", "DIR/o.bag", "topic =="}, "expression, column 8: incomplete"},
		"expressions":       {[]string{"filter", "--expr", "true", "DIR/in.bag", "DIR/o.bag", "true"}, "given twice"},
		"Python":            {[]string{"filter", "DIR/in.bag", "DIR/o.bag", "topic.startswith('/a') and True"}, `this is not Python: write x startsWith "a" for x.startswith(…)`},
		"Python True":       {[]string{"filter", "DIR/in.bag", "DIR/o.bag", "topic == '/a' and True"}, "unknown name True; this is not Python: write true, false and nil"},
		"Python if":         {[]string{"filter", "DIR/in.bag", "DIR/o.bag", "m.data == '' if topic == '/a' else False"}, `unexpected "if"; this is not Python: write a ? b : c for b if a else c`},
		"Python not":        {[]string{"filter", "DIR/in.bag", "DIR/o.bag", "not topic == '/a'"}, "write not (a == b) for not a == b"},
		"Python str":        {[]string{"filter", "DIR/in.bag", "DIR/o.bag", "str(m.data) == ''"}, "unknown name str; this is not Python: write string(x) for str(x)"},
		"Python type":       {[]string{"filter", "DIR/in.bag", "DIR/o.bag", "topic in ('/a', '/b')"}, "a list in [...]"},
	}
	good, err := os.ReadFile(goodBag)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			before := []string{"in.bag", "in.orig.bag", "p_9.bag", "there.bag"}
			for _, n := range before {
				if err := os.WriteFile(filepath.Join(dir, n), good, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var args []string
			for _, a := range tc.args {
				args = append(args, strings.Replace(a, "DIR", dir, 1))
			}
			code, stdout, stderr := gobag(args...)
			if name == "pipe and relative" {
				code, stdout, stderr = piped(bytes.NewReader(good), args...)
			}
			if code != 1 || stdout != "" || !strings.Contains(stderr, tc.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("code %d, stdout %q, stderr %q, want one line with %q", code, stdout, stderr, tc.want)
			}
			if d := cmp.Diff(before, names(t, dir)); d != "" {
				t.Errorf("files differ (-want +got):\n%s", d)
			}
			for _, n := range before {
				wantContent(t, filepath.Join(dir, n), string(good))
			}
		})
	}
}

// TestNothingMatches tells what a filter was asked for in vain.
func TestNothingMatches(t *testing.T) {
	t.Parallel()
	for _, asked := range []string{"--topic /conut", "--exclude /a*", "--type std_msgs/Foo", "--callerid /nobody", "--rename /a:=/b"} {
		flag, value, _ := strings.Cut(asked, " ")
		code, _, stderr := gobag("filter", "-q", goodBag, filepath.Join(t.TempDir(), "o.bag"), flag, value, "-t", "/count")
		nothing := flag == "--type" || flag == "--callerid" // the others leave what -t admits
		want := "gobag: " + goodBag + ": nothing there matches " + asked + "\n"
		if !strings.HasPrefix(stderr, want) || (code == 1) != nothing || (stderr != want) != nothing {
			t.Errorf("code %d, stderr %q, want %q", code, stderr, want)
		}
	}
}

// TestGlobLike warns of a regular expression that is meant to be a glob.
func TestGlobLike(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{"/co*": "-e /co* is a regular expression, in which * repeats the character before it", "/co.*": ""} {
		_, _, stderr := gobag("filter", "-q", "--allow-empty", goodBag, filepath.Join(t.TempDir(), "o.bag"), "-e", "-t", expr)
		if strings.Contains(stderr, "is a regular expression") != (want != "") || !strings.Contains(stderr, want) {
			t.Errorf("%s: %s", expr, stderr)
		}
	}
}

// TestDamagedAnywhere flips bits all over a bag: what is copied without complaint is
// complete, and nothing but results is left behind.
func TestDamagedAnywhere(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine damages a bag at place after place")
	t.Parallel()
	good, err := os.ReadFile(goodBag)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	codes := make(map[int]int)
	t.Run("bits", func(t *testing.T) {
		const places, workers = 60, 6 // each place costs an fsync or two: they wait together
		step := 1 + len(good)/places
		for first := range workers {
			t.Run(fmt.Sprint(first), func(t *testing.T) {
				t.Parallel()
				for at := first * step; at < len(good); at += workers * step {
					code := damagedAt(t, good, at)
					mu.Lock()
					codes[code]++
					mu.Unlock()
				}
			})
		}
	})
	if codes[0] == 0 || codes[1] == 0 || codes[3] == 0 {
		t.Errorf("not every kind of damage was met: %v", codes)
	}
}

// damagedAt converts a bag with one wrong bit, and returns the exit code.
func damagedAt(t *testing.T, good []byte, at int) int {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.bag"), filepath.Join(dir, "o.bag")
	bad := bytes.Clone(good)
	bad[at] ^= 1 << (at % 8)
	if err := os.WriteFile(in, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := gobag("convert", "-f", "-q", in, out)
	switch code {
	case 0:
		n := uint64(0)
		for _, messages := range counts(t, out) {
			n += messages
		}
		if n != 26 {
			t.Errorf("bit at %d: %d messages and no complaint", at, n)
		}
	case 1, 3:
		if stderr == "" {
			t.Errorf("bit at %d: code %d without a word", at, code)
		}
	default:
		t.Errorf("bit at %d: code %d, %s", at, code, stderr)
	}
	_ = os.Remove(out) // not there if the code was 1
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("bit at %d: left behind: %v", at, left)
	}
	return code
}

// TestInterrupted ends a command that waits for more input.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(goodBag)
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	defer w.Close()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		// The command has made its file when it wants more than the head of the bag.
		_, _ = w.Write(good[:4200])
		again := time.NewTicker(time.Millisecond)
		defer again.Stop()
		for len(names(t, dir)) == 0 && ctx.Err() == nil {
			<-again.C
		}
		cancel()
	}()
	var stderr bytes.Buffer
	code := run(ctx, []string{"convert", "-", filepath.Join(dir, "o.bag")}, job.NewOutput(r, io.Discard, &stderr))
	if code != 1 || stderr.String() != "gobag: interrupted; what was not complete is removed\n" {
		t.Errorf("code %d, stderr %q", code, stderr.String())
	}
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
