package main

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// hostileText makes a bag of a message whose text a terminal would obey, at a time with the
// nanoseconds of four seconds.
func hostileText(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.bag")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection("/a\u202e", rosbag.Header{
		{Key: "type", Value: "std_msgs/String"}, {Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"}, {Key: "message_definition", Value: "string data\n"},
	})
	if err == nil {
		err = w.Write(c, rosbag.Time{Sec: 7, Nsec: 1<<32 - 1}, append([]byte{14, 0, 0, 0}, "x\x1b[2J\x00\u202e\u009b|é"...))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEchoOnTerminal: no format sends a terminal what it would obey. CSV is changed for that only
// there, JSON always.
func TestEchoOnTerminal(t *testing.T) {
	t.Parallel()
	path := hostileText(t)
	const json = `{"topic":"/a\u202e","t":"11.294967295","type":"std_msgs/String","msg":{"data":"x\u001b[2J\u0000\u202e\u009b|é"}}`
	for format, want := range map[string]string{
		"--csv":  `11294967295,x\x1b[2J\x00\x202e\x9b|é`,
		"--json": json,
		"-a":     `data: "x\e[2J\0\u202E\x9B|\xE9"`,
	} {
		ours, theirs := testkit.Terminal(t)
		if code := run(context.Background(), []string{"echo", path, format}, job.NewOutput(strings.NewReader(""), ours, ours)); code != 0 {
			t.Errorf("%s: code %d", format, code)
		}
		lines := bufio.NewScanner(theirs)
		for lines.Scan() && strings.HasPrefix(lines.Text(), "%time,") {
		}
		if got := strings.TrimSuffix(lines.Text(), "\r"); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
	if _, stdout, _ := gobag("echo", path, "--csv"); stdout != "%time,field.data\n11294967295,x\x1b[2J\x00\u202e\u009b|é\n" {
		t.Errorf("CSV in a file: %q", stdout)
	}
	if _, stdout, _ := gobag("echo", path, "--json"); stdout != json+"\n" {
		t.Errorf("JSON in a file: %q", stdout)
	}
}
