package record_test

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestRosout: others hear what the recorder logs, to its last line. A recorder that records
// /rosout has each line of its own once, and none is the cause of another.
func TestRosout(t *testing.T) {
	t.Parallel()
	harness.EachMaster(t, func(t *testing.T, g *harness.Graph) {
		console := peers.HearRosout(g)
		rec := g.Record("-a", "-O", "out", "__name:=rec")
		console.Hears("/rec")
		rec.Printed(`"topic": "/rosout"`)
		const topics = 5
		n := peers.Node(g, "talker")
		for i := range topics { // "Subscribing to" each is a line
			name := fmt.Sprint("/topic", i)
			peers.Advertise(g, n, name, true).Source(true).Publish(peers.StringFrame(name))
			rec.Printed(`"topic": "` + name + `"`)
		}
		recorded(g, "out.bag", 1, "/topic0", "/topic4", "/rosout")
		rec.Stop()

		texts := map[string]int{}
		lines := console.Of("/rec")
		for i, l := range lines {
			texts[l.Text]++
			slowDisk := strings.HasPrefix(l.Text, "slow disk ") // of a busy machine; the one warning that may come
			if l.Header.Seq != lines[0].Header.Seq+i || l.Level != 2 && !slowDisk {
				t.Errorf("line %d is %+v", i, l)
			}
		}
		for i := range topics {
			if text := fmt.Sprint("Subscribing to topic=/topic", i); texts[text] != 1 {
				t.Errorf("%q was published %d times", text, texts[text])
			}
		}
		if len(lines) == 0 || !strings.HasPrefix(lines[len(lines)-1].Text, "nothing was lost\n") {
			t.Errorf("the last line is no summary: %v", console)
		}
		for _, topic := range []string{"/rosout", "/rosout_agg"} {
			seen := map[int]int{}
			all := bags.Read(t, filepath.Join(g.Dir, "out.bag"))[topic]
			if topic == "/rosout_agg" && g.Kind == "gomaster" {
				continue // there is no node rosout
			} else if all == nil {
				t.Errorf("%s is not recorded", topic)
				continue
			}
			for _, m := range all.Messages {
				l := peers.DecodeRosout(g, m.Data)
				if l.Name != "/rec" {
					continue // of roscore, which other tests use, too
				}
				if seen[l.Header.Seq]++; seen[l.Header.Seq] > 1 || strings.Contains(l.Text, "/rosout") {
					t.Errorf("%s has %+v", topic, l)
				}
			}
			if len(seen) == 0 || len(seen) > len(lines) {
				t.Errorf("%s has %d lines, %d were published", topic, len(seen), len(lines))
			}
		}
		g.Run("gobag", "check", "out.bag")
	})
}

// TestRosoutOfLosses: a link that breaks is a warning at once, and the summary says so.
func TestRosoutOfLosses(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	console := peers.HearRosout(g)
	up := make(chan struct{}, 1)
	crash := peers.FakePublisher(g, "/lidar", "/scan", func(_ tcpros.Header, conn net.Conn) {
		h := tcpros.Header{
			{Key: "callerid", Value: "/lidar"},
			{Key: "latching", Value: "0"},
			{Key: "md5sum", Value: peers.StringMD5},
			{Key: "message_definition", Value: "string data\n"},
			{Key: "topic", Value: "/scan"},
			{Key: "type", Value: "std_msgs/String"},
		}
		conn.Write(append(tcpros.AppendHeader(nil, h), peers.StringFrame("x")...))
		up <- struct{}{}
	})
	rec := g.Start("gorecord", "/scan", "-O", "out", "-q", "__name:=rec") // -q is for the terminal
	console.Hears("/rec")
	<-up
	recorded(g, "out.bag", 1, "/scan")
	crash()
	g.Eventually("the warning", func() bool {
		for _, l := range console.Of("/rec") {
			if l.Level == 4 && strings.Contains(l.Text, "link to a publisher lost") && strings.Contains(l.Text, "topic=/scan") {
				return true
			}
		}
		return false
	}, console.String)
	rec.Signal(syscall.SIGINT)
	rec.Ended(3)
	lines := console.Of("/rec")
	if last := lines[len(lines)-1]; last.Level != 4 || !strings.HasPrefix(last.Text, "links to publishers were lost (1)\n") {
		t.Errorf("the last line is %+v", last)
	}
}

// TestNoRosout: the recorder does not register the topic, and everything else works.
func TestNoRosout(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	peers.Advertise(g, peers.Node(g, "talker"), "/t", true).Source(true).Publish(peers.StringFrame("x"))
	rec := g.Record("-a", "-O", "out", "--no-rosout", "__name:=rec")
	recorded(g, "out.bag", 1, "/t")
	state, err := peers.Node(g, "watcher").Master().SystemState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if nodes := state.Publishers["/rosout"]; len(nodes) > 0 {
		t.Errorf("/rosout is published by %v", nodes)
	}
	rec.Stop()
}
