package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestFilterReadsWhatMayMatch checks that chunks without a message for which the expression may be true are not read: their
// damage does not matter.
func TestFilterReadsWhatMayMatch(t *testing.T) {
	t.Parallel()
	x, y := oldConn(t, "/x", "std_msgs/String", "string data\n"), oldConn(t, "/y", "std_msgs/String", "string data\n")
	var b bytes.Buffer
	w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{ChunkBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint32(40) {
		c := x
		if n%2 > 0 {
			c = y
		}
		own := w.Connection(rosbag.ConnID(n % 2))
		if own == nil {
			if own, err = w.AddConnection(c.Topic, c.Header); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Write(own, rosbag.Time{Sec: 100 + n}, []byte{5, 0, 0, 0, 'm', 's', 'g', byte('0' + n/10), byte('0' + n%10)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	spoilt := bytes.Replace(b.Bytes(), []byte("msg31"), []byte("msg00"), 1) // on /y, at 131
	in := write(t, "in.bag", spoilt)
	for _, tc := range []struct {
		expr    string
		code, n int
	}{
		{`topic == "/x"`, 0, 20},
		{`topic == "/x" and m.data != "msg02"`, 0, 19},
		{`m.data > "msg1" and topic != "/y"`, 0, 15},
		{`topic == "/y"`, 3, 19},
		{`m.data contains "msg" and t < 110`, 0, 10},
		{`t > 132.5 and ns <= 135000000000`, 3, 3}, // read from 5 s before
		{`t > 138`, 0, 1},
		{`t == 107`, 0, 1},
		{`topic == "/x" and type == "a/B" and m.data == ""`, 0, 0},
		{`m.data == ""`, 3, 0},
	} {
		out := filepath.Join(t.TempDir(), "out.bag")
		code, _, stderr := gobag("filter", "--allow-empty", in, out, tc.expr)
		if code == 1 {
			t.Fatalf("%s: %s", tc.expr, stderr)
		}
		if got := len(read(t, out)); code != tc.code || got != tc.n {
			t.Errorf("%s: %d, %d messages, %s; want %d, %d", tc.expr, code, got, stderr, tc.code, tc.n)
		}
		code, stdout, stderr := gobag("echo", "--allow-empty", "--json", "--expr", tc.expr, in)
		if got := strings.Count(stdout, "\n"); code != tc.code || got != tc.n {
			t.Errorf("echo %s: %d, %d messages, %s; want %d, %d", tc.expr, code, got, stderr, tc.code, tc.n)
		}
	}
}
