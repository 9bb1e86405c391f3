package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/testkit"
)

const demoBag = "../../testdata/demo.bag"

func TestEchoJSON(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := gobag("echo", demoBag, "--json")
	if code != 0 || stderr != "" {
		t.Fatalf("code %d, %s", code, stderr)
	}
	topics := make(map[string]int)
	for line := range strings.Lines(stdout) {
		var m struct {
			Topic, T, Type string
			Msg            map[string]any
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if m.Type == "" || len(m.Msg) == 0 || len(m.T) < 11 || m.T[len(m.T)-10] != '.' {
			t.Fatalf("line %s", line)
		}
		topics[m.Topic]++
	}
	want := map[string]int{
		"/camera/image/compressed": 50, "/diagnostics": 10, "/imu/data": 1000, "/map": 1, "/odom": 500, "/scan": 100, "/tf": 500, "/tf_static": 2,
	}
	if d := cmp.Diff(want, topics); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}
}

func TestEchoSelection(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		args []string
		want int
	}{
		{"all", []string{demoBag}, 2163},
		{"topic", []string{demoBag, "/tf"}, 500},
		{"flag", []string{"-t", "tf", demoBag}, 500},
		{"two topics", []string{demoBag, "/tf", "-t", "/map"}, 501},
		{"pattern", []string{demoBag, "-t", "/tf*"}, 502},
		{"two bags", []string{demoBag, demoBag, "/map"}, 2},
		{"count", []string{demoBag, demoBag, "-n", "2165"}, 2165},
		{"start", []string{demoBag, "/odom", "--start", "5"}, 250},
		{"duration", []string{demoBag, "/odom", "-s", "5", "-u", "1"}, 50},
		{"expressions of names", []string{demoBag, "-e", "/od.*|/tf"}, 1000},
		{"expression", []string{demoBag, "/odom", "--expr", "m.pose.pose.position.x > 0"}, 250},
		{"stock's filter", []string{"-b", demoBag, "/tf_static", "--filter", "len(m.transforms) > 1"}, 2},
		{"flags in between", []string{demoBag, "-n3", "/tf", "-s", "+1s", "-t", "/map"}, 3},
		{"end of flags", []string{"-n", "3", "--", demoBag, "/tf"}, 3},
		{"field", []string{demoBag, "/odom/pose/pose/position/x"}, 500},
		{"fields of one topic", []string{demoBag, "/odom/pose/pose", "/odom/twist/twist", "/odom"}, 1500},
		{"count in between", []string{demoBag, "/odom/pose/pose", "/odom/twist/twist", "-n", "3"}, 3},
		{"a topic twice", []string{demoBag, "/tf*", "/tf", "-t", "/tf_static"}, 502},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := gobag(append([]string{"echo", "--json"}, test.args...)...)
			if code != 0 || stderr != "" {
				t.Errorf("code %d, %s", code, stderr)
			}
			if got := strings.Count(stdout, "\n"); got != test.want {
				t.Errorf("%d messages, want %d", got, test.want)
			}
		})
	}
}

func TestEchoComplaints(t *testing.T) {
	t.Parallel()
	// The definition of /chatter says more than its messages have, or less.
	b, err := os.ReadFile("../../bagfmt/testdata/cpp_none.bag")
	if err != nil {
		t.Fatal(err)
	}
	own := patch(t, b, "std_msgs/String", "our_msgs/String")
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no bag", nil, 1, "no bag is given"},
		{"no file", []string{"/nothing/here.bag"}, 1, "/nothing/here.bag: no such file"},
		{"no topic", []string{demoBag, "/nope"}, 1, "/nope: no such topic"},
		{"topic without slash", []string{demoBag, "odom"}, 1, "odom: no such file; topics begin with /"},
		{"second bag", []string{demoBag, "./nope.bag"}, 1, "nope.bag: no such file"},
		{"flag without value", []string{demoBag, "-t"}, 1, "--topic"},
		{"count without value", []string{demoBag, "/odom", "-pn"}, 1, "--count"},
		{"end before start", []string{demoBag, "--start", "+3s", "--end", "+1s"}, 1, "--until is 2s before --start"},
		{"not closed", []string{oldVersion("v12_indexed_notclosed")}, 0, ""},
		{"not closed and cut", []string{oldVersion("v12_indexed_notclosed_cut")}, 3, "truncated: message at 29073"},
		{"index lost", []string{oldVersion("v12_indexed_badpos")}, 3, "the index is not at 31624"},
		{"no field", []string{demoBag, "/odom/pose/nope"}, 1, `geometry_msgs/PoseWithCovariance has no field "nope"`},
		{"slice", []string{demoBag, "/tf/transforms[0:1]"}, 1, "slices of arrays are not supported"},
		{"index", []string{demoBag, "/tf/transforms[9]"}, 3, "500 messages like this were not shown"},
		{"expression", []string{demoBag, "--expr", "m. >"}, 1, "column 4"},
		{"misspelt field", []string{demoBag, "--expr", "m.psoe.x > 1"}, 1, "m.psoe"},
		{"expression of no sense", []string{demoBag, "--expr", "m.data > 5"}, 1, "/map: expression, column 8: invalid operation"},
		{"misspelt field of elements", []string{demoBag, "--expr", "any(m.transforms, .chld == '')"}, 1, "m.transforms[…].chld"},
		{"two formats", []string{demoBag, "--json", "-p"}, 1, "can't be used together"},
		{"options of text", []string{demoBag, "--json", "--noarr"}, 1, "--noarr and --nostr are for text and CSV"},
		{"all and topic", []string{demoBag, "-a", "/tf"}, 1, "exclude each other"},
		{"start", []string{demoBag, "--start", "yesterday"}, 1, `--start: "yesterday": not a time`},
		{"wrong md5sum", []string{write(t, "a.bag", patch(t, own, "string data", "uint8[] dat"))}, 0, "it is used anyway"},
		{"wrong md5sum of a known type", []string{write(t, "a.bag", patch(t, b, "string data", "uint8[] dat"))}, 0, "/latched: its definition of std_msgs/String has another md5sum than 992ce8a1687cec8c8bd883ec73ca41d1: that of ROS noetic is used"},
		{"wrong type", []string{write(t, "a.bag", patch(t, own, "string data", "string dat-"))}, 3, "its messages cannot be shown"},
		{"too long for the message", []string{write(t, "a.bag", patch(t, own, "string data", "uint64[3] a"))}, 3, "uint64[3] of 3 elements of at least 8 bytes"},
		{"too short for the message", []string{write(t, "a.bag", patch(t, own, "string data", "uint8   dat"))}, 3, "bytes after the end of the message"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := gobag(append([]string{"echo"}, test.args...)...)
			if code != test.code || !strings.Contains(stderr, test.want) || strings.HasPrefix(stderr, "gobag: ") != (test.want != "") {
				t.Errorf("code %d, want %d; want %q:\n%s", code, test.code, test.want, stderr)
			}
			if code == 1 && stdout != "" {
				t.Errorf("%d bytes are printed before a mistake in the arguments is told", len(stdout))
			}
			if n := strings.Count(stderr, "\n"); n > 6 {
				t.Errorf("%d lines:\n%s", n, stderr)
			}
		})
	}
}

func oldVersion(name string) string { return "../../bagfmt/testdata/old/" + name + ".bag" }

// TestEchoPipe prints the same of a pipe as of the file.
func TestEchoPipe(t *testing.T) {
	t.Parallel()
	for _, path := range []string{demoBag, oldVersion("v12_unindexed_cpp"), oldVersion("v11_rosrecord"), oldVersion("v12_indexed_notclosed_cut")} {
		in, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		wantCode, want, wantErr := gobag("echo", "--json", path)
		code, got, stderr := piped(bytes.NewReader(in), "echo", "--json", "-")
		wantErr = strings.ReplaceAll(wantErr, path, "standard input")
		if d := cmp.Diff(sorted(want), sorted(got)); code != wantCode || d != "" || stderr != wantErr {
			t.Errorf("%s: code %d, want %d; %s (-file +pipe):\n%s", path, code, wantCode, stderr, d)
		}
	}
	in, err := os.ReadFile(demoBag)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		code int
		want int
		err  string
	}{
		{[]string{"/odom"}, 0, 500, ""},
		{[]string{"/odom", "-n", "3"}, 0, 3, ""},
		{[]string{"/odom", "--start", "@1748682005.0032", "--end", "@1748682006.0032"}, 0, 50, ""},
		{[]string{"/nope"}, 1, 0, "/nope: no such topic"},
		{[]string{"/odom", "--start", "+1s"}, 1, 0, "give an absolute time"},
	} {
		code, got, stderr := piped(bytes.NewReader(in), append([]string{"echo", "--json", "-"}, test.args...)...)
		if n := strings.Count(got, "\n"); code != test.code || n != test.want || !strings.Contains(stderr, test.err) || (stderr == "") != (test.err == "") {
			t.Errorf("%v: code %d, %d messages, want %d; %s", test.args, code, n, test.want, stderr)
		}
	}
	if code, _, stderr := piped(bytes.NewReader(in[:len(in)/2]), "echo", "-"); code != 3 || !strings.Contains(stderr, "truncated") {
		t.Errorf("half a bag: code %d, %s", code, stderr)
	}
}

// sorted orders lines: messages of a pipe come in the order of the file.
func sorted(text string) []string {
	lines := slices.Collect(strings.Lines(text))
	slices.Sort(lines)
	return lines
}

// patch replaces bytes by as many others.
func patch(t *testing.T, b []byte, from, to string) []byte {
	t.Helper()
	if len(from) != len(to) || !bytes.Contains(b, []byte(from)) {
		t.Fatalf("cannot replace %q by %q", from, to)
	}
	return bytes.ReplaceAll(b, []byte(from), []byte(to))
}

// closedPipe is what writing to head is like after it has seen enough.
type closedPipe struct{ left int }

func (p *closedPipe) Write(b []byte) (int, error) {
	if p.left -= len(b); p.left < 0 {
		return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
	}
	return len(b), nil
}

func TestEchoClosedPipe(t *testing.T) {
	t.Parallel()
	for _, left := range []int{0, 100_000} {
		var stderr bytes.Buffer
		code := run(t.Context(), []string{"echo", demoBag}, job.NewOutput(strings.NewReader(""), &closedPipe{left}, &stderr))
		if code != 0 || stderr.Len() > 0 {
			t.Errorf("code %d, %s", code, stderr.String())
		}
	}
}

func TestEchoInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // however slow the machine is, it does not count as a disk that hangs
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var stdout, stderr bytes.Buffer
		if code := run(ctx, []string{"echo", demoBag}, job.NewOutput(strings.NewReader(""), &stdout, &stderr)); code != 0 || stderr.Len() > 0 {
			t.Errorf("code %d, %s", code, stderr.String())
		}
		if stdout.Len() > 0 {
			t.Errorf("%d bytes are printed", stdout.Len())
		}
	})
}

// fullDisk fails like a file system without room.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestEchoFullDisk: an output that fails is reported once, and no further bag is read for it.
func TestEchoFullDisk(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"echo", demoBag, demoBag}, job.NewOutput(strings.NewReader(""), fullDisk{}, &stderr))
	if want := "gobag: " + syscall.ENOSPC.Error() + "\n"; code != 1 || stderr.String() != want {
		t.Errorf("code %d, %q, want %q", code, stderr.String(), want)
	}
}

// TestPagesThatCannotBeWritten: the command line is not to blame, and a reader that has gone is no news.
func TestPagesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--help", "info --help", "--man", "--version"} {
		var full, closed bytes.Buffer
		code := run(t.Context(), strings.Fields(args), job.NewOutput(strings.NewReader(""), fullDisk{}, &full))
		if want := "gobag: " + syscall.ENOSPC.Error() + "\n"; code != 1 || full.String() != want {
			t.Errorf("%s, full disk: code %d, %q, want %q", args, code, full.String(), want)
		}
		code = run(t.Context(), strings.Fields(args), job.NewOutput(strings.NewReader(""), &closedPipe{}, &closed))
		if code != 1 || closed.Len() > 0 {
			t.Errorf("%s, closed pipe: code %d, %q", args, code, closed.String())
		}
	}
}

// TestEchoOldBags shows that a missing definition costs only its own messages.
func TestEchoOldBags(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine reads many bags")
	t.Parallel()
	all, err := filepath.Glob("../../bagfmt/testdata/old/*.bag")
	if err != nil || len(all) == 0 {
		t.Fatalf("%d old bags, %v", len(all), err)
	}
	for _, path := range all {
		code, stdout, stderr := gobag("echo", "--json", "--allow-empty", path)
		if code != 0 && code != 3 {
			t.Errorf("%s: code %d, %s", path, code, stderr)
		}
		for line := range strings.Lines(stdout) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: %s", path, line)
			}
		}
		if code == 3 && !strings.Contains(stderr, path) {
			t.Errorf("%s: %s", path, stderr)
		}
	}
}
