package integration_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestMissedMessages: what a publisher with too small a queue throws away is counted
// exactly, told from what we lost, and stands in the bag.
func TestMissedMessages(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "roscore")
	rec := g.record("/cloud", "-O", "out")
	g.startPython("burst.py", "burst", "/cloud").printed("done")
	rec.printed("messages that were published have not reached us")
	rec.signal(syscall.SIGINT)
	if code := rec.wait(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	messages := read(t, filepath.Join(g.dir, "out.bag"))["/cloud"].Messages
	seq := func(i int) uint32 { return binary.LittleEndian.Uint32(messages[i].Data) }
	last := len(messages) - 1
	missed := int(seq(last)-seq(0)) - last
	if missed < 1 {
		t.Fatalf("the publisher lost nothing: %d messages", len(messages))
	}
	t.Logf("%d recorded, %d missed", len(messages), missed)
	for _, want := range []string{
		fmt.Sprintf("missed: %d that were published and never arrived", missed),
		fmt.Sprintf("gorecord: %d messages were published and never arrived; see the summary", missed),
		"lost: none", "broken links: none",
	} {
		if !strings.Contains(rec.out.String(), want) {
			t.Errorf("no %q in:\n%s", want, rec.out.String())
		}
	}
	var status []struct {
		Name    string
		Level   int
		Message string
		Values  map[string]string
	}
	g.python(&status, "summary.py", "out.bag")
	if len(status) != 2 || status[1].Name != "gorecord: /cloud" || status[1].Level != 1 || status[1].Values["missed from /burst"] != strconv.Itoa(missed) {
		t.Errorf("the bag says %+v", status)
	}
	if info := g.run("rosbag", "info", "out.bag"); !strings.Contains(info, "/gorecord/summary") || !strings.Contains(info, fmt.Sprintf("messages:    %d\n", len(messages)+1)) {
		t.Errorf("rosbag info:\n%s", info)
	}
	g.run("gobag", "check", "out.bag")
}

// TestLostLinks: a node that is killed is told from those that end, and from one that
// ends and is started again.
func TestLostLinks(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachMaster(t, func(t *testing.T, g *graph) {
		start := func(node, topic string) *process {
			p := g.startPython("publish.py", node, topic+",geometry_msgs/PoseStamped,100,0,0")
			p.printed("ready")
			return p
		}
		rec := g.record("-a", "-x", "/rosout.*", "-O", "out")
		killed, ended, gone := start("one", "/killed"), start("two", "/ended"), start("three", "/gone")
		player := g.start("/usr/lib/rosbag/play", demoBag(t), "--loop", "--quiet", "__name:=roscpp_player")
		other := g.record("/gone", "-O", "other") // has a topic of its own
		for _, topic := range []string{"/killed", "/ended", "/gone", "/imu/data"} {
			rec.printed(`"topic": "` + topic + `"`)
		}
		g.eventually("all are recorded", func() bool { return size(g, "out.bag.active") > 100_000 })
		for _, p := range []*process{gone, player, ended, other} {
			p.signal(syscall.SIGINT)
		}
		for _, p := range []*process{gone, player, ended, other} {
			p.wait()
		}
		ended = start("two", "/ended")
		killed.signal(syscall.SIGKILL) // last: by the time that this is said the others could have been
		killed.wait()
		rec.printed(`link to a publisher lost`)
		rec.printed(`"publisher": "/two"`)
		killed = start("one", "/killed")
		rec.printed(`"topic": "/killed"`)
		before := size(g, "out.bag.active")
		g.eventually("both are recorded again", func() bool { return size(g, "out.bag.active") > before+20_000 })
		ended.signal(syscall.SIGINT)
		ended.wait()
		rec.signal(syscall.SIGINT)
		if code := rec.wait(); code != 3 {
			t.Errorf("exit code %d", code)
		}
		for _, want := range []string{"broken links: /one on /killed (1, ", "s without)\nreconnected: /two (1 on 1 topics, ", "links to publishers were lost (1)", "lost: none", "missed: none"} {
			if !strings.Contains(rec.out.String(), want) {
				t.Errorf("no %q in:\n%s", want, rec.out.String())
			}
		}
		killed.signal(syscall.SIGINT)
	})
}

// TestQuickRestart: a node that is back at once, for whatever reason, is told and no loss.
func TestQuickRestart(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachMaster(t, func(t *testing.T, g *graph) {
		first := g.startPython("publish.py", "one", "/pose,geometry_msgs/PoseStamped,100,0,0")
		rec := g.record("/pose", "-O", "out")
		g.eventually("it is recorded", func() bool { return size(g, "out.bag.active") > 20_000 })
		first.signal(syscall.SIGKILL)
		g.startPython("publish.py", "one", "/pose,geometry_msgs/PoseStamped,100,0,0").printed("ready")
		rec.printed("a publisher is back")
		rec.signal(syscall.SIGINT)
		if code := rec.wait(); code != 0 || !strings.Contains(rec.out.String(), "broken links: none\nreconnected: /one (1 on 1 topics, ") {
			t.Errorf("exit code %d", code)
		}
	})
}

// TestNumbersOfOthers: what a relay leaves out is not missing, nor what is missing in a
// bag that is played.
func TestNumbersOfOthers(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "roscore")
	record := func(name string, publisher *process) {
		t.Helper()
		rec := g.record("/some", "-O", name)
		g.eventually(name+" has messages", func() bool { return size(g, name+".bag.active") > 60_000 })
		rec.stop()
		publisher.stop()
		if !strings.Contains(rec.out.String(), "missed: none") {
			t.Error("messages are missed")
		}
	}
	all := g.startPython("publish.py", "one", "/all,geometry_msgs/PoseStamped,200,0,0")
	record("relayed", g.start("/usr/lib/topic_tools/drop", "/all", "1", "10", "/some"))
	all.stop()
	messages := read(t, filepath.Join(g.dir, "relayed.bag"))["/some"].Messages
	seq := func(i int) int { return int(binary.LittleEndian.Uint32(messages[i].Data)) }
	if last := len(messages) - 1; seq(last)-seq(0) < last+last/10 {
		t.Fatalf("the relay leaves nothing out: %d messages", len(messages))
	}
	record("stock", g.start("/usr/lib/rosbag/play", "relayed.bag", "--loop", "--quiet", "__name:=again"))
	record("ours", g.start("goplay", "relayed.bag", "--loop"))
}
