package record_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestSplitLosesNothing: the files together hold every message once, in order.
func TestSplitLosesNothing(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	const messages = 400
	f := peers.NewFlood(g, "/t", messages)
	rec := g.Record("/t", "-O", "out", "--split", "--duration", "0.5", "--overflow=block")
	f.WaitDone()
	rec.Stop()
	names := bags.Names(g, "out")
	if len(names) < 3 { // 8, unless the machine has stood still
		t.Fatalf("files: %v", names)
	}
	n := 0
	for i := range names {
		name := filepath.Join(g.Dir, "out_"+strconv.Itoa(i)+".bag")
		topic := bags.Read(t, name)["/t"]
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
	if !strings.Contains(rec.Out.String(), "lost: none") || !strings.Contains(rec.Out.String(), " files, 0 deleted") ||
		!strings.Contains(rec.Out.String(), fmt.Sprintf("all files: %d messages, ", messages)) || !strings.Contains(rec.Out.String(), fmt.Sprintf("; the last is out_%d.bag\n", len(names)-1)) {
		t.Errorf("summary:\n%s", rec.Out.String())
	}
}

// TestSplitMerged: the files of a recording, merged, are the recording without repeated messages.
func TestSplitMerged(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	const messages = 300
	for _, name := range []string{"server", "arm"} {
		peers.Advertise(g, peers.Node(g, name), "/latched", true).Source(true).Publish(peers.StringFrame(name))
	}
	f := peers.NewFlood(g, "/t", messages)
	rec := g.Record("/t", "/latched", "-O", "out", "--split", "--duration", "0.5", "--overflow=block", "--note", "robot=r1")
	f.WaitDone()
	rec.Stop()
	names := bags.Names(g, "out")
	if len(names) < 3 {
		t.Fatalf("files: %v", names)
	}
	merge := []string{"merge", "-o", "merged.bag"}
	for i := range names {
		merge = append(merge, "out_"+strconv.Itoa(i)+".bag")
	}
	last := merge[len(merge)-1]
	if out := g.Run("gobag", "info", last); !strings.Contains(out, "3 repeated latched messages at the beginning") {
		t.Errorf("%s:\n%s", last, out)
	}
	if out := g.Run("gobag", merge...); !strings.Contains(out, " repeated latched messages left out") {
		t.Errorf("gobag %v:\n%s", merge, out)
	}
	got := bags.Read(t, filepath.Join(g.Dir, "merged.bag"))
	for topic, want := range map[string]int{"/t": messages, "/latched": 2, "/metadata": 1} {
		if got[topic] == nil || len(got[topic].Messages) != want {
			t.Errorf("%s: want %d messages of %+v", topic, want, got[topic])
		}
	}
}

// TestSplitBesideStock: same options, same names, and each file of ours begins with
// the latched message under its own header.
func TestSplitBesideStock(t *testing.T) {
	t.Parallel()
	harness.Long(t, "records the same with stock")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "roscore")
	g.StartPython("publish.py", "one", "/chatter,std_msgs/String,50,0,20", "/latched,std_msgs/Int32,0,1,0").Printed("ready")
	args := []string{"--split", "--duration=1", "--max-splits", "2", "/chatter", "/latched"}
	ours := g.Record(append(args, "-O", "ours")...)
	theirs := g.Start("/usr/lib/rosbag/record", append(args, "-O", "theirs", "__name:=stock_record")...)
	for _, who := range []string{"ours", "theirs"} { // not at the same time: one may be a file ahead
		g.Eventually(who+" is in its sixth file", func() bool {
			begun, err := filepath.Glob(filepath.Join(g.Dir, who+"_[5-9].bag*"))
			return err == nil && len(begun) > 0
		})
	}
	theirs.Stop()
	ours.Stop()
	// Stock keeps two closed ones beside the one that was open at the end; ours keeps two in all. The last one need not
	// be the same for both.
	for who, want := range map[string]int{"ours": 2, "theirs": 3} {
		var left []int
		for _, name := range bags.Names(g, who) {
			n, err := strconv.Atoi(strings.Trim(name, "_.bag"))
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, n)
		}
		slices.Sort(left)
		if last := len(left) - 1; len(left) != want || left[last]-left[0] != last || left[last] < 5 {
			t.Errorf("%s left files %v, want %d in a row, of which the last is at least the sixth", who, left, want)
		}
	}
	for _, name := range bags.Names(g, "ours") {
		found := false
		for _, d := range bags.Dump(g, "ours"+name) {
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

// TestMinSpace: the text of stock, our exit code for an early end, and no file: stock leaves an
// empty bag at each start.
func TestMinSpace(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	rec := g.Start("gorecord", "-a", "-L", "100000G", "-O", "m1")
	if code := rec.Wait(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	if want := "Less than 100000G of space free on disk with m1.bag.active. Disabling recording."; !strings.Contains(rec.Out.String(), want) {
		t.Errorf("no %q in:\n%s", want, rec.Out.String())
	}
	if left := bags.Names(g, "m1"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestSizeEnds: without --split, --size ends the recording, with exit code 0.
func TestSizeEnds(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	g.Start("goplay", bags.Demo(t), "--loop", "--quiet", "--rate", "20")
	rec := g.Record("-a", "-O", "out", "--size", "1")
	if code := rec.Wait(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, rec.Out.String())
	}
	if n := harness.Size(g, "out.bag"); n < 1<<20 || n > 1_500_000 {
		t.Errorf("%d bytes with --size 1", n)
	}
}

// TestSplitAt: files end with the seconds of the clock, under names of their own.
func TestSplitAt(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	const messages = 600
	f := peers.NewFlood(g, "/t", messages)
	rec := g.Record("/t", "--split-at", "1s", "--name-template", "day_%Y_{split}", "--max-bytes", "1G", "--overflow=block")
	f.WaitDone()
	rec.Stop()
	n, names := 0, bags.Names(g, "day_")
	for _, name := range names {
		topic := bags.Read(t, filepath.Join(g.Dir, "day_"+name))["/t"]
		if topic == nil {
			continue
		}
		m := topic.Messages
		n += len(m)
		if first, last := m[0].Time.Sec, m[len(m)-1].Time.Sec; first != last {
			t.Errorf("%s reaches from second %d to %d", name, first, last)
		}
	}
	if n != messages || len(names) < 3 { // 6 or 7, unless the machine has stood still
		t.Errorf("%d of %d messages in %v", n, messages, names)
	}
}
