package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestUndecided filters with expressions that make no sense for some messages, or
// for none: what is right for the others is kept.
func TestUndecided(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		expr string
		code int
		want map[string]uint64 // nil: no file
		told []string          // a line of each
	}{
		"one topic":  {"m.data >= 7", 3, map[string]uint64{"/count": 25}, []string{"/latched: expression, column 8: invalid operation: string >= int", "1 message left out"}},
		"some":       {"t < 1795225280.4 or m.data > 'x'", 3, map[string]uint64{"/count": 23, "/latched": 1}, []string{"/count: expression, column 28: invalid operation: int > string", "2 messages left out"}},
		"everything": {"m.data > 'x' or m.data > 5", 1, nil, []string{"/latched: ", "/count: ", "o.bag: not written: "}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out := filepath.Join(dir, "o.bag")
			code, _, stderr := gobag("filter", "-q", goodBag, out, tc.expr)
			lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
			if code != tc.code || len(lines) != len(tc.told) {
				t.Fatalf("code %d, %s", code, stderr)
			}
			for _, want := range tc.told {
				if !strings.Contains(stderr, want) {
					t.Errorf("no %q in\n%s", want, stderr)
				}
			}
			if tc.want == nil {
				if left := names(t, dir); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
				return
			}
			if d := cmp.Diff(tc.want, counts(t, out)); d != "" {
				t.Errorf("messages differ (-want +got):\n%s", d)
			}
		})
	}
}

// TestHostileNames runs every command on a bag whose names would control a terminal.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "in.bag"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const evil = "/\x1b]0;x\x07\u009b2J\u202e\ngobag: fine\x7f"
	for _, definition := range []string{"", "int32 " + evil, "Type" + evil + " x"} {
		c, err := w.AddConnection(evil, rosbag.Header{
			{Key: "topic", Value: evil},
			{Key: "type", Value: "p/T" + evil},
			{Key: "md5sum", Value: evil},
			{Key: "callerid", Value: evil},
			{Key: "message_definition", Value: definition},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(c, rosbag.Time{Sec: 1}, []byte("1234")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"info IN", "info -y IN", "info -v IN", "info -y -k topics IN", "info --json IN", "check IN", "echo IN", "echo --json IN",
		"filter IN OUT m.x>1", "split --topic IN OUT", "convert IN OUT.mcap", "merge IN -o OUT2",
	} {
		args := strings.Fields(strings.NewReplacer("IN", f.Name(), "OUT", filepath.Join(dir, "out")).Replace(args))
		_, stdout, stderr := gobag(args...)
		for _, r := range stdout + stderr {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Errorf("gobag %v sends %U:\n%q\n%q", args, r, stdout, stderr)
				break
			}
		}
		if strings.Contains(stdout+stderr, "\ngobag: fine") {
			t.Errorf("gobag %v lets a bag speak:\n%s%s", args, stdout, stderr)
		}
	}
}

// TestPythonTimes: to_sec() of a time in a message is accepted, and a field whose name ends in t is not
// taken for the time of the message.
func TestPythonTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, _, want := gobag("filter", demoBag, filepath.Join(dir, "a.bag"), "t - m.header.stamp < 10")
	code, _, got := gobag("filter", demoBag, filepath.Join(dir, "b.bag"), "t.to_sec() - m.header.stamp.to_sec() < 10")
	if got = strings.ReplaceAll(got, "b.bag", "a.bag"); code != 0 || got != want {
		t.Errorf("code %d, %s, want %s", code, got, want)
	}
	if code, _, stderr := gobag("filter", demoBag, filepath.Join(dir, "c.bag"), "m.header.count.secs > 1"); code != 1 || !strings.Contains(stderr, `has no field "count"`) {
		t.Errorf("code %d, %s", code, stderr)
	}
	if code, _, stderr := gobag("filter", demoBag, filepath.Join(dir, "c.bag"), "m.header.stamp.sec > 1"); code != 1 || !strings.Contains(stderr, `time has no field "sec": it has secs, nsecs`) {
		t.Errorf("code %d, %s", code, stderr)
	}
}

// TestExpressionWithoutValue: --expr at the end of the command line selects not everything, but is an error.
func TestExpressionWithoutValue(t *testing.T) {
	t.Parallel()
	if code, stdout, stderr := gobag("echo", goodBag, "--expr"); code != 1 || stdout != "" || stderr != "gobag: --expr: missing value; see gobag echo --help\n" {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestOptionalField: a field with ?. before it may be missing everywhere, which is nothing to tell.
func TestOptionalField(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "o.bag")
	if code, _, stderr := gobag("filter", "-q", goodBag, out, "m?.nofield == nil"); code != 0 || stderr != "" {
		t.Errorf("code %d, %s", code, stderr)
	}
}
