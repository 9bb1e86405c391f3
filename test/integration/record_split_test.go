package integration_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bags returns the finished bags whose names start with prefix, without it.
func (g *graph) bags(prefix string) []string {
	g.t.Helper()
	all, err := filepath.Glob(filepath.Join(g.dir, prefix+"*.bag"))
	if err != nil {
		g.t.Fatal(err)
	}
	for i, path := range all {
		all[i] = strings.TrimPrefix(filepath.Base(path), prefix)
	}
	return all
}

// TestSplitLosesNothing: the files together hold every message once, in order.
func TestSplitLosesNothing(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	const messages = 400
	f := g.flood("/t", messages)
	rec := g.record("/t", "-O", "out", "--split", "--duration", "0.5", "--overflow=block")
	f.waitDone()
	rec.stop()
	names := g.bags("out")
	if len(names) < 6 {
		t.Fatalf("files: %v", names)
	}
	n := 0
	for i := range names {
		name := filepath.Join(g.dir, "out_"+strconv.Itoa(i)+".bag")
		topic := read(t, name)["/t"]
		if topic == nil {
			continue
		}
		for _, m := range topic.Messages {
			if got := int(m.Data[4]) | int(m.Data[5])<<8; got != n {
				t.Fatalf("%s: message %d, want %d", name, got, n)
			}
			n++
		}
	}
	if n != messages {
		t.Errorf("%d of %d messages", n, messages)
	}
	if !strings.Contains(rec.out.String(), "lost: none") || !strings.Contains(rec.out.String(), " files, of which 0 deleted") {
		t.Errorf("summary:\n%s", rec.out.String())
	}
}

// TestSplitBesideStock: same options, same names, and each file of ours begins with
// the latched message under its own header.
func TestSplitBesideStock(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "roscore")
	g.startPython("publish.py", "one", "/chatter,std_msgs/String,50,0,20", "/latched,std_msgs/Int32,0,1,0").printed("ready")
	args := []string{"--split", "--duration=1", "--max-splits", "2", "/chatter", "/latched"}
	ours := g.record(append(args, "-O", "ours")...)
	theirs := g.start("/usr/lib/rosbag/record", append(args, "-O", "theirs", "__name:=stock_record")...)
	g.eventually("both are in their sixth file", func() bool {
		return size(g, "ours_5.bag.active") > 0 && size(g, "theirs_5.bag.active") > 0
	})
	theirs.stop()
	ours.stop()
	// Two closed ones are kept beside the one that was open at the end.
	want := g.bags("theirs")
	if got := g.bags("ours"); !slices.Equal(got, want) {
		t.Errorf("ours left %v, stock %v", got, want)
	}
	for _, name := range g.bags("ours") {
		found := false
		for _, d := range g.dump("ours" + name) {
			if d.Topic != "/latched" {
				continue
			}
			found = len(d.Messages) == 1 && d.Header["latching"] == "1" && d.Header["callerid"] == "/one"
		}
		if !found {
			t.Errorf("ours%s does not begin with the latched message", name)
		}
	}
}

// TestMinSpace: the text and the end of stock, and our exit code for an early end.
func TestMinSpace(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	rec := g.start("gorecord", "-a", "-L", "100000G", "-O", "m1")
	if code := rec.wait(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	if want := "Less than 100000G of space free on disk with m1.bag.active. Disabling recording."; !strings.Contains(rec.out.String(), want) {
		t.Errorf("no %q in:\n%s", want, rec.out.String())
	}
	read(t, filepath.Join(g.dir, "m1.bag"))
}

// TestSizeEnds: without --split the recording ends, quietly.
func TestSizeEnds(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	g.start("goplay", demoBag(t), "--loop", "--quiet", "--rate", "20")
	rec := g.record("-a", "-O", "out", "--size", "1")
	if code := rec.wait(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, rec.out.String())
	}
	if n := size(g, "out.bag"); n < 1<<20 || n > 1_500_000 {
		t.Errorf("%d bytes with --size 1", n)
	}
}

// TestSplitAt: files end with the seconds of the clock, under names of their own.
func TestSplitAt(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	f := g.flood("/t", 300)
	rec := g.record("/t", "--split-at", "1s", "--name-template", "day_%Y_{split}", "--max-bytes", "1G", "--overflow=block")
	f.waitDone()
	rec.stop()
	n, names := 0, g.bags("day_")
	for _, name := range names {
		topic := read(t, filepath.Join(g.dir, "day_"+name))["/t"]
		if topic == nil {
			continue
		}
		m := topic.Messages
		n += len(m)
		if first, last := m[0].Time.Sec, m[len(m)-1].Time.Sec; first != last {
			t.Errorf("%s reaches from second %d to %d", name, first, last)
		}
	}
	if n != 300 || len(names) < 3 {
		t.Errorf("%d of 300 messages in %v", n, names)
	}
}
