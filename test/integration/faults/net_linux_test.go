package faults_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// cable is a wire between two machines, which are network namespaces: what the kernel
// does when nobody answers can be seen there only.
type cable struct {
	*harness.Graph
	name   string
	master string // the address of the machine that it runs on
}

// The two ends.
const (
	near = "10.90.0.1"
	far  = "10.90.0.2"
)

var cables atomic.Int32

// plug makes the two machines, and starts the master on one of them.
func plug(t *testing.T, master string) *cable {
	t.Helper()
	harness.Need(t, "ip", "-Version")
	harness.Need(t, "iptables", "--version")
	allowed(t, "unshare", "--mount", "--net", "ip", "link", "add", "wire", "type", "veth", "peer", "name", "other")
	c := &cable{&harness.Graph{T: t, Port: "11311", Dir: t.TempDir()}, fmt.Sprintf("gorosbag-%d-%d-", os.Getpid(), cables.Add(1)), master}
	for _, end := range []string{near, far} {
		c.root("ip netns add " + c.space(end))
		testkit.AfterDeath("ip", "netns", "delete", c.space(end))
		t.Cleanup(func() { c.root("ip netns delete " + c.space(end)) })
	}
	c.root("ip link add wire netns " + c.space(near) + " type veth peer name wire netns " + c.space(far))
	for _, end := range []string{near, far} {
		c.on(end, "ip address add "+end+"/24 dev wire")
		c.on(end, "ip link set wire up")
		c.on(end, "ip link set lo up")
	}
	c.startOn(master, "gomaster")
	c.Eventually("the master answers", func() bool { return c.commandOn(master, "gomaster", "healthcheck").Run() == nil })
	return c
}

func (c *cable) space(end string) string { return c.name + strings.TrimPrefix(end, "10.90.0.") }

// root runs a command line that needs root.
func (c *cable) root(line string) {
	c.T.Helper()
	words := strings.Fields(line)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		c.T.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// on runs a command line on one machine.
func (c *cable) on(end, line string) {
	c.T.Helper()
	c.root("ip netns exec " + c.space(end) + " " + line)
}

// commandOn prepares a program on one machine.
func (c *cable) commandOn(end, name string, args ...string) *exec.Cmd {
	prog := c.Command(name, args...)
	cmd := c.Command("/usr/bin/nsenter", append([]string{"--net=/run/netns/" + c.space(end)}, prog.Args...)...)
	cmd.Env = append(cmd.Env, "ROS_IP="+end, "ROS_MASTER_URI=http://"+c.master+":"+c.Port)
	return cmd
}

func (c *cable) startOn(end, name string, args ...string) *harness.Process {
	c.T.Helper()
	return c.Launch(name, c.commandOn(end, name, args...))
}

// pull takes the near end out of the network, put puts it back.
func (c *cable) pull() { c.T.Helper(); c.on(near, "ip link set wire down") }

func (c *cable) put() { c.T.Helper(); c.on(near, "ip link set wire up") }

// swallow makes both machines lose all that comes, without a sign of it; let ends that.
func (c *cable) swallow() { c.T.Helper(); c.filter("-A") }

func (c *cable) let() { c.T.Helper(); c.filter("-D") }

func (c *cable) filter(what string) {
	c.T.Helper()
	for _, end := range []string{near, far} {
		c.allowedOn(end, "iptables "+what+" INPUT -i wire -j DROP")
	}
}

// allowedOn is on, for what not every kernel has.
func (c *cable) allowedOn(end, line string) {
	c.T.Helper()
	allowed(c.T, "ip", strings.Fields("netns exec "+c.space(end)+" "+line)...)
}

// ticking makes a bag of so many numbered messages, 50 a second.
func (c *cable) ticking(name, topic string, count int) {
	c.T.Helper()
	var bag []bags.StringMessage
	for i := range count {
		bag = append(bag, bags.StringMessage{Topic: topic, Node: "/clockwork", Latching: false, At: time.Duration(i) * 20 * time.Millisecond, Text: fmt.Sprintf("%05d", i)})
	}
	bags.Make(c.Graph, name, bag...)
}

// recorded returns how many messages a topic has in a bag that is being written.
func (c *cable) recorded(topic string) int {
	topics := map[string][]string{}
	bags.AddMessages(topics, filepath.Join(c.Dir, "out.bag.active")) // an error: it has no header yet
	return len(topics[topic])
}

// TestDeadLink (N6): a publisher that is cut off without a word is noticed within 15 s,
// said, and recorded again as soon as it is reached, whatever is in between. Publishers
// beside it lose nothing. A master that is cut off, too, costs no message of others, and
// does not keep the bag open.
func TestDeadLink(t *testing.T) {
	t.Parallel()
	harness.Long(t, "waits 40 s for keepalive")
	for name, tc := range map[string]struct {
		master   string
		player   string // at the far end; ours makes itself known again, of which stock knows nothing
		cut, end func(*cable)
	}{
		"publisher":            {near, harness.StockPlay, (*cable).pull, (*cable).put},
		"publisher and master": {far, "goplay", (*cable).swallow, (*cable).let},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !harness.IsOurs(tc.player) {
				harness.NeedROS(t)
			}
			c := plug(t, tc.master)
			c.ticking("far.bag", "/far", 6000)
			c.ticking("near.bag", "/near", 6000)
			rec := c.startOn(near, "gorecord", "/far", "/near", "-O", "out", "--flush-interval", "50ms")
			c.startOn(near, "goplay", "near.bag", "--wait-for-subscribers", "__name:=near")
			c.startOn(far, tc.player, "far.bag", "--wait-for-subscribers", "__name:=far")
			c.Eventually("both are recorded", func() bool { return c.recorded("/far") > 0 && c.recorded("/near") > 0 })
			tc.cut(c)
			cut := time.Now()
			rec.Printed("link lost")
			if took := time.Since(cut); took > 15*time.Second+slackStall {
				t.Errorf("noticed after %v", took)
			}
			// Attempts in vain, between which the waits would have grown to more than what is
			// allowed below.
			<-time.After(16 * time.Second)
			before := c.recorded("/far")
			tc.end(c)
			healed := time.Now()
			c.Eventually("it is recorded again", func() bool { return c.recorded("/far") > before })
			took := time.Since(healed)
			t.Logf("noticed, and recorded again %v after the network was back", took)
			if took > time.Second+slackStall {
				t.Errorf("recorded again after %v", took)
			}
			if tc.master == far { // who did not say meanwhile whether the publisher is gone
				tc.cut(c)
			} else {
				rec.Printed("a publisher is back")
			}
			rec.Signal(syscall.SIGINT)
			began := time.Now()
			ends(rec, 3)
			if took := time.Since(began); took > 5*time.Second+slackStall {
				t.Errorf("the end takes %v", took)
			}
			harness.Contains(t, rec.Out.String(), "broken links: /far on /far (1, ", "lost: none")
			last := -1
			for _, m := range bags.Read(t, filepath.Join(c.Dir, "out.bag"))["/near"].Messages {
				var n int
				if _, err := fmt.Sscanf(string(m.Data[4:]), "%d", &n); err != nil || last >= 0 && n != last+1 {
					t.Fatalf("message %q of the publisher beside it follows on %d", m.Data[4:], last)
				}
				last = n
			}
		})
	}
}

// TestHalfOpenSubscriber (N17): a subscriber whose machine is gone costs the others no
// message. What it misses is counted, and play, which waits for it if nothing may be
// dropped, ends in bounded time.
func TestHalfOpenSubscriber(t *testing.T) {
	t.Parallel()
	harness.Long(t, "waits 20 s, until the subscriber counts as gone")
	for name, tc := range map[string]struct {
		args string
		most time.Duration
		want string
	}{
		"drop":  {"--queue 100", 15 * time.Second, "takes nothing"},
		"block": {"--overflow block", time.Minute, "gone without a word"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := plug(t, near)
			const messages = 300
			var bag []bags.StringMessage
			for i := range messages {
				bag = append(bag, bags.StringMessage{Topic: "/big", Node: "/camera", Latching: false, At: time.Duration(i) * 10 * time.Millisecond, Text: fmt.Sprintf("%03d", i) + strings.Repeat("x", 100_000)})
			}
			bags.Make(c.Graph, "big.bag", bag...)
			c.startOn(far, "gorecord", "/big", "-O", "gone").Printed("Recording to")
			rec := c.startOn(near, "gorecord", "/big", "-O", "out", "--flush-interval", "50ms")
			rec.Printed("Recording to")
			play := c.startOn(near, "goplay", append([]string{"big.bag", "-d", "3"}, strings.Fields(tc.args)...)...)
			c.Eventually("both are recorded", func() bool { return c.recorded("/big") > 0 && harness.Size(c.Graph, "gone.bag.active") > 500_000 })
			c.swallow()
			cut := time.Now()
			play.Ended(3, tc.want, "lost: ")
			took := time.Since(cut)
			t.Logf("play ends %v after the cut", took)
			if took > tc.most {
				t.Errorf("play ends %v after the cut", took)
			}
			rec.Stop()
			got := bags.Read(t, filepath.Join(c.Dir, "out.bag"))["/big"].Messages
			if len(got) != messages {
				t.Errorf("the other subscriber has %d of %d messages", len(got), messages)
			}
			if name == "drop" {
				if took := got[len(got)-1].Time.Sub(got[0].Time); took > 3*time.Second+slackStall {
					t.Errorf("3 s of the bag take %v", took)
				}
			}
			c.let()
		})
	}
}

// TestBadLine (N15): over a line that loses 5 % and takes 1 Mbit/s, with 100 ms of it
// waiting in the queue of a modem, each message arrives once and in order.
func TestBadLine(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a network that loses packets")
	c := plug(t, near)
	for _, end := range []string{near, far} {
		c.allowedOn(end, "tc qdisc add dev wire root tbf rate 1mbit burst 3000 limit 15000")
		c.allowedOn(end, "iptables -A INPUT -i wire -m statistic --mode random --probability 0.05 -j DROP")
	}
	var bag []bags.StringMessage
	for i := range 300 { // 2.4 Mbit, which are due within 0.3 s
		bag = append(bag, bags.StringMessage{Topic: "/t", Node: "/n", Latching: false, At: time.Duration(i) * time.Millisecond, Text: fmt.Sprintf("%03d", i) + strings.Repeat("x", 1000)})
	}
	bags.Make(c.Graph, "t.bag", bag...)
	rec := c.startOn(near, "gorecord", "/t", "-O", "out")
	rec.Printed("Recording to")
	stalls := c.Stalls(rec)
	c.startOn(far, "goplay", "t.bag", "--queue", "0", "--wait-for-subscribers").Ended(0, "lost: none")
	still := stalls()
	rec.Stop()
	harness.Contains(t, rec.Out.String(), "lost: none", "missed: none", "broken links: none")
	got := bags.Read(t, filepath.Join(c.Dir, "out.bag"))["/t"].Messages
	if len(got) != len(bag) {
		t.Fatalf("%d messages of %d", len(got), len(bag))
	}
	for i, m := range got {
		if string(m.Data[4:]) != bag[i].Text {
			t.Fatalf("message %d is %.7q", i, m.Data)
		}
	}
	if took := got[len(got)-1].Time.Sub(got[0].Time); took+still < time.Second { // 2.4 s, but for how late the first was read
		t.Errorf("the line is not bad: all arrived in %v", took)
	}
}

// TestLinkIsReset (N7): a link that the kernel breaks is there again within half a second,
// and that is said.
func TestLinkIsReset(t *testing.T) {
	t.Parallel()
	harness.Need(t, "ss", "--version")
	g := harness.NewGraph(t, "gomaster")
	pub := peers.Advertise(g, peers.Node(g, "robot"), "/t", false)
	rec := g.Record("/t", "-O", "out")
	g.Eventually("the link", func() bool { return pub.Subscribers() == 1 })
	src := pub.Source(false)
	publish := func(count int) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for range count {
			src.Publish(peers.StringFrame("tick"))
			<-tick.C
		}
	}
	publish(20)
	peer := pub.Stats()[0].Peer
	if out, err := exec.Command("ss", "-K", "--tcp", "src", peer).CombinedOutput(); err != nil || !strings.Contains(string(out), peer) {
		t.Skipf("this kernel breaks no links: %v\n%s", err, out)
	}
	publish(50)
	g.Eventually("the link again", func() bool { s := pub.Stats(); return len(s) == 1 && s[0].Peer != peer })
	publish(50)
	rec.Signal(syscall.SIGINT)
	ends(rec, 3)
	harness.Contains(t, rec.Out.String(), "link lost", "broken links: /robot on /t (1, ", "lost: none")
	got := bags.Read(t, filepath.Join(g.Dir, "out.bag"))["/t"]
	if gap := bags.LongestGap(got); gap > slackStall { // 0.1 s on a machine that has nothing else to do
		t.Errorf("%v without messages", gap)
	}
}

// allowed skips the test where the machine does not let a command do its work, such as to
// make network namespaces in a container without rights. That cannot be installed, so it
// holds in CI, too.
func allowed(t *testing.T, tool string, args ...string) {
	t.Helper()
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		t.Skipf("not possible here: %s %v: %v\n%s", tool, args, err, out)
	}
}
