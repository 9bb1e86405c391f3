package record_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// TestMissedMessages: messages that a publisher drops because its queue is too small are counted
// exactly, as missed rather than lost, and the bag has the count.
func TestMissedMessages(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "roscore")
	rec := g.Record("/cloud", "-O", "out")
	g.StartPython("burst.py", "burst", "/cloud").Printed("done")
	rec.Printed("messages that were published have not reached us")
	const published = 1020 // the last one is in the queue until it is sent
	g.Eventually("the last message is recorded", func() bool {
		m := soFar(g, "out.bag")["/cloud"]
		return len(m) > 0 && binary.LittleEndian.Uint32([]byte(m[len(m)-1])) >= published
	})
	rec.Signal(syscall.SIGINT)
	if code := rec.Wait(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	messages := bags.Read(t, filepath.Join(g.Dir, "out.bag"))["/cloud"].Messages
	seq := func(i int) uint32 { return binary.LittleEndian.Uint32(messages[i].Data) }
	// Numbers are believed once they have grown by one four times in a row. Then the gaps
	// before that count, too: a busy publisher loses messages from the first one on.
	proof, last := 0, len(messages)-1
	for proof+4 <= last && seq(proof+4)-seq(proof) != 4 {
		proof++
	}
	if proof+4 > last {
		t.Fatalf("no five messages in a row among %d", len(messages))
	}
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
		if !strings.Contains(rec.Out.String(), want) {
			t.Errorf("no %q in:\n%s", want, rec.Out.String())
		}
	}
	var status []struct {
		Name    string
		Level   int
		Message string
		Values  map[string]string
	}
	g.Python(&status, "summary.py", "out.bag")
	said := 0 // a slow machine leaves time to say that the topic is silent, too
	for _, line := range status {
		if line.Name == "gorecord: /cloud" && line.Level == 1 && line.Values["missed from /burst"] == strconv.Itoa(missed) {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the bag says %+v", status)
	}
	count := fmt.Sprintf("%d msgs", len(messages))
	if info := g.Run("rosbag", "info", "out.bag"); !strings.Contains(info, "/gorecord/summary") || !strings.Contains(info, count) {
		t.Errorf("rosbag info:\n%s", info)
	}
	g.Run("gobag", "check", "out.bag")
}

// TestLostLinks: the summary tells a node that was killed from nodes that end, and from a node that
// ends and starts again.
func TestLostLinks(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for seconds")
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		start := func(node, topic string) *harness.Process {
			p := g.StartPython("publish.py", node, topic+",geometry_msgs/PoseStamped,100,0,0")
			p.Printed("ready")
			return p
		}
		rec := g.Record("-a", "-x", "/rosout.*", "-O", "out")
		killed, ended, gone := start("one", "/killed"), start("two", "/ended"), start("three", "/gone")
		player := g.Start("/usr/lib/rosbag/play", bags.Demo(t), "--loop", "--quiet", "__name:=roscpp_player")
		other := g.Record("/gone", "-O", "other") // has a topic of its own
		for _, topic := range []string{"/killed", "/ended", "/gone", "/imu/data"} {
			rec.Printed(`"topic": "` + topic + `"`)
		}
		recorded(g, "out.bag", 10, "/killed", "/ended", "/gone", "/imu/data")
		for _, p := range []*harness.Process{gone, player, ended, other} {
			p.Signal(syscall.SIGINT)
		}
		for _, p := range []*harness.Process{gone, player, ended, other} {
			p.Wait()
		}
		ended = start("two", "/ended")
		killed.Signal(syscall.SIGKILL) // last: by the time that this is said the others could have been
		killed.Wait()
		rec.Printed(`link to a publisher lost`)
		rec.Printed(`"publisher": "/two"`)
		killed = start("one", "/killed")
		rec.Printed(`"topic": "/killed"`)
		so := soFar(g, "out.bag")
		g.Eventually("both are recorded again", func() bool {
			now := soFar(g, "out.bag")
			return len(now["/ended"]) > len(so["/ended"])+100 && len(now["/killed"]) > len(so["/killed"])+100
		})
		ended.Signal(syscall.SIGINT)
		ended.Wait()
		rec.Signal(syscall.SIGINT)
		if code := rec.Wait(); code != 3 {
			t.Errorf("exit code %d", code)
		}
		for _, want := range []string{"broken links: /one on /killed (1, ", "s without)\n", "\nreconnected: /two (1 on 1 topic, ", "links to publishers were lost (1)", "lost: none", "missed: none"} {
			if !strings.Contains(rec.Out.String(), want) {
				t.Errorf("no %q in:\n%s", want, rec.Out.String())
			}
		}
		killed.Signal(syscall.SIGINT)
	})
}

// TestQuickRestart: a node that is back at once, for whatever reason, is reported and does not count
// as a loss.
func TestQuickRestart(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for seconds")
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		first := g.StartPython("publish.py", "one", "/pose,geometry_msgs/PoseStamped,100,0,0")
		rec := g.Record("/pose", "-O", "out")
		g.Eventually("it is recorded", func() bool { return harness.Size(g, "out.bag.active") > 20_000 })
		first.Signal(syscall.SIGKILL)
		first.Wait() // or the master asks it to end, which is another story
		g.StartPython("publish.py", "one", "/pose,geometry_msgs/PoseStamped,100,0,0").Printed("ready")
		rec.Printed("a publisher is back")
		rec.Signal(syscall.SIGINT)
		if code := rec.Wait(); code != 0 || !strings.Contains(rec.Out.String(), "broken links: none\nreconnected: /one (1 on 1 topic, ") {
			t.Errorf("exit code %d", code)
		}
	})
}

// TestNumbersOfOthers: gaps in the sequence numbers of a relay, or of a bag that is played, do not
// count as missed messages.
func TestNumbersOfOthers(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "roscore")
	record := func(name string, publisher *harness.Process) {
		t.Helper()
		rec := g.Record("/some", "-O", name)
		g.Eventually(name+" has messages", func() bool { return harness.Size(g, name+".bag.active") > 60_000 })
		rec.Stop()
		publisher.Stop()
		if !strings.Contains(rec.Out.String(), "missed: none") {
			t.Error("messages are missed")
		}
	}
	all := g.StartPython("publish.py", "one", "/all,geometry_msgs/PoseStamped,200,0,0")
	record("relayed", g.Start("/usr/lib/topic_tools/drop", "/all", "1", "10", "/some"))
	all.Stop()
	messages := bags.Read(t, filepath.Join(g.Dir, "relayed.bag"))["/some"].Messages
	seq := func(i int) int { return int(binary.LittleEndian.Uint32(messages[i].Data)) }
	if last := len(messages) - 1; seq(last)-seq(0) < last+last/10 {
		t.Fatalf("the relay leaves nothing out: %d messages", len(messages))
	}
	record("stock", g.Start("/usr/lib/rosbag/play", "relayed.bag", "--loop", "--quiet", "__name:=again"))
	record("ours", g.Start("goplay", "relayed.bag", "--loop"))
}
