package main

import (
	"os"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestAround copies what is around a mark, or around another moment.
func TestAround(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Create(dir + "/in.bag")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conns := map[string]*rosbag.Connection{}
	for _, topic := range []string{"/tick", note.MarksTopic} {
		if conns[topic], err = w.AddConnection(topic, rosbag.Header{{Key: "type", Value: note.Type}, {Key: "md5sum", Value: note.MD5Sum}, {Key: "message_definition", Value: note.Definition}}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range uint32(100) {
		err := w.Write(conns["/tick"], rosbag.Time{Sec: 1000 + n}, note.Encode("tick"))
		if n == 50 {
			err = w.Write(conns[note.MarksTopic], rosbag.Time{Sec: 1050}, note.Encode("door opened"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--around mark=door --margin 3s": ": 8 messages",
		"--around mark=door --margin 0":  ": 2 messages",
		"--around mark=door":             ": 22 messages",
		"--around 5 --margin 2":          ": 5 messages",
		"--around @1005 --margin 2":      ": 5 messages",
		"--around 5 --margin 9223372034": ": 101 messages",
		"--around -2000 --margin 1950":   ": 50 messages",
		"--around -4e9 --margin 9.2e9":   ": 101 messages",
		"--start mark=door":              ": 51 messages",
		"--until mark=door":              ": 52 messages",
		"--around mark=x":                `--around: no mark begins with "x"; there are "door opened"`,
		"--around mark=door --start +1s": "--around stands in place of --start, --until and --duration",
		"--around 5 --margin -1":         "--margin -1s must be 0 or positive",
		"--margin 3":                     "--margin is how far from --around, which is not given",
		"--margin 10":                    "--margin is how far from --around, which is not given",
		"--around mark=door --margin x":  `"x": want a number of seconds`,
	} {
		code, _, stderr := gobag(append(append([]string{"filter", "-f"}, strings.Fields(args)...), dir+"/in.bag", dir+"/out.bag")...)
		if !strings.Contains(stderr, want) || (code == 0) != strings.Contains(want, " message") {
			t.Errorf("%s: code %d, %q, want %q", args, code, stderr, want)
		}
	}
}
