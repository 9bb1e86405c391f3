package integration_test

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
)

// cable is a wire between two machines, which are network namespaces: what the kernel
// does when nobody answers can be seen there only.
type cable struct {
	*graph
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
	need(t, "ip", "-Version")
	need(t, "iptables", "--version")
	allowed(t, "unshare", "--mount", "--net", "ip", "link", "add", "wire", "type", "veth", "peer", "name", "other")
	c := &cable{&graph{t: t, port: "11311", dir: t.TempDir()}, fmt.Sprintf("gorosbag-%d-%d-", os.Getpid(), cables.Add(1)), master}
	for _, end := range []string{near, far} {
		c.root("ip netns add " + c.space(end))
		t.Cleanup(func() { c.root("ip netns delete " + c.space(end)) })
	}
	c.root("ip link add wire netns " + c.space(near) + " type veth peer name wire netns " + c.space(far))
	for _, end := range []string{near, far} {
		c.on(end, "ip address add "+end+"/24 dev wire")
		c.on(end, "ip link set wire up")
		c.on(end, "ip link set lo up")
	}
	c.startOn(master, "gomaster")
	c.eventually("the master answers", func() bool { return c.commandOn(master, "gomaster", "healthcheck").Run() == nil })
	return c
}

func (c *cable) space(end string) string { return c.name + strings.TrimPrefix(end, "10.90.0.") }

// root runs a command line that needs root.
func (c *cable) root(line string) {
	c.t.Helper()
	words := strings.Fields(line)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// on runs a command line on one machine.
func (c *cable) on(end, line string) {
	c.t.Helper()
	c.root("ip netns exec " + c.space(end) + " " + line)
}

// commandOn prepares a program on one machine.
func (c *cable) commandOn(end, name string, args ...string) *exec.Cmd {
	prog := c.command(name, args...)
	cmd := c.command("/usr/bin/nsenter", append([]string{"--net=/run/netns/" + c.space(end)}, prog.Args...)...)
	cmd.Env = append(cmd.Env, "ROS_IP="+end, "ROS_MASTER_URI=http://"+c.master+":"+c.port)
	return cmd
}

func (c *cable) startOn(end, name string, args ...string) *process {
	c.t.Helper()
	return c.launch(name, c.commandOn(end, name, args...))
}

// pull takes the near end out of the network, put puts it back.
func (c *cable) pull() { c.t.Helper(); c.on(near, "ip link set wire down") }
func (c *cable) put()  { c.t.Helper(); c.on(near, "ip link set wire up") }

// swallow makes both machines lose all that comes, without a sign of it; let ends that.
func (c *cable) swallow() { c.t.Helper(); c.filter("-A") }
func (c *cable) let()     { c.t.Helper(); c.filter("-D") }

func (c *cable) filter(what string) {
	c.t.Helper()
	for _, end := range []string{near, far} {
		c.allowedOn(end, "iptables "+what+" INPUT -i wire -j DROP")
	}
}

// allowedOn is on, for what not every kernel has.
func (c *cable) allowedOn(end, line string) {
	c.t.Helper()
	allowed(c.t, "ip", strings.Fields("netns exec "+c.space(end)+" "+line)...)
}

// full skips a test that waits for the kernel's patience.
func full(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("GOROSBAG_FULL") == "" {
		t.Skip("GOROSBAG_FULL is not set: " + what)
	}
}

// ticking makes a bag of so many numbered messages, 50 a second.
func (c *cable) ticking(name, topic string, count int) {
	c.t.Helper()
	var bag []spoken
	for i := range count {
		bag = append(bag, spoken{topic, "/clockwork", false, time.Duration(i) * 20 * time.Millisecond, fmt.Sprintf("%05d", i)})
	}
	c.makeBag(name, bag...)
}

// recorded returns how many messages a topic has in a bag that is being written.
func (c *cable) recorded(topic string) int {
	topics := map[string][]string{}
	addMessages(topics, filepath.Join(c.dir, "out.bag.active")) // an error: it has no header yet
	return len(topics[topic])
}

// TestDeadLink (N6): a publisher that is cut off without a word is noticed within 15 s,
// said, and recorded again as soon as it is reached, whatever is in between. Publishers
// beside it lose nothing. A master that is cut off, too, costs no message of others, and
// does not keep the bag open.
func TestDeadLink(t *testing.T) {
	t.Parallel()
	full(t, "waits for keepalive, for 40 s")
	for name, tc := range map[string]struct {
		master   string
		player   string // at the far end; ours makes itself known again, of which stock knows nothing
		cut, end func(*cable)
	}{
		"publisher":            {near, stockPlay, (*cable).pull, (*cable).put},
		"publisher and master": {far, "goplay", (*cable).swallow, (*cable).let},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !ours(tc.player) {
				needROS(t)
			}
			c := plug(t, tc.master)
			c.ticking("far.bag", "/far", 6000)
			c.ticking("near.bag", "/near", 6000)
			rec := c.startOn(near, "gorecord", "/far", "/near", "-O", "out", "--flush-interval", "50ms")
			c.startOn(near, "goplay", "near.bag", "--wait-for-subscribers", "__name:=near")
			c.startOn(far, tc.player, "far.bag", "--wait-for-subscribers", "__name:=far")
			c.eventually("both are recorded", func() bool { return c.recorded("/far") > 0 && c.recorded("/near") > 0 })
			tc.cut(c)
			cut := time.Now()
			rec.printed("link lost")
			if took := time.Since(cut); took > 15*time.Second+slackStall {
				t.Errorf("noticed after %v", took)
			}
			// Attempts in vain, between which the waits would have grown to more than what is
			// allowed below.
			<-time.After(16 * time.Second)
			before := c.recorded("/far")
			tc.end(c)
			healed := time.Now()
			c.eventually("it is recorded again", func() bool { return c.recorded("/far") > before })
			took := time.Since(healed)
			t.Logf("noticed, and recorded again %v after the network was back", took)
			if took > time.Second+slackStall {
				t.Errorf("recorded again after %v", took)
			}
			if tc.master == far { // who did not say meanwhile whether the publisher is gone
				tc.cut(c)
			} else {
				rec.printed("a publisher is back")
			}
			rec.signal(syscall.SIGINT)
			began := time.Now()
			rec.ends(3)
			if took := time.Since(began); took > 5*time.Second+slackStall {
				t.Errorf("the end takes %v", took)
			}
			contains(t, rec.out.String(), "broken links: /far on /far (1, ", "lost: none")
			last := -1
			for _, m := range read(t, filepath.Join(c.dir, "out.bag"))["/near"].Messages {
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
	full(t, "waits for the end of patience, for 20 s")
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
			var bag []spoken
			for i := range messages {
				bag = append(bag, spoken{"/big", "/camera", false, time.Duration(i) * 10 * time.Millisecond, fmt.Sprintf("%03d", i) + strings.Repeat("x", 100_000)})
			}
			c.makeBag("big.bag", bag...)
			c.startOn(far, "gorecord", "/big", "-O", "gone").printed("Recording to")
			rec := c.startOn(near, "gorecord", "/big", "-O", "out", "--flush-interval", "50ms")
			rec.printed("Recording to")
			play := c.startOn(near, "goplay", append([]string{"big.bag", "-d", "3"}, strings.Fields(tc.args)...)...)
			c.eventually("both are recorded", func() bool { return c.recorded("/big") > 0 && size(c.graph, "gone.bag.active") > 500_000 })
			c.swallow()
			cut := time.Now()
			play.ended(3, tc.want, "lost: ")
			took := time.Since(cut)
			t.Logf("play ends %v after the cut", took)
			if took > tc.most {
				t.Errorf("play ends %v after the cut", took)
			}
			rec.stop()
			got := read(t, filepath.Join(c.dir, "out.bag"))["/big"].Messages
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
	c := plug(t, near)
	for _, end := range []string{near, far} {
		c.allowedOn(end, "tc qdisc add dev wire root tbf rate 1mbit burst 3000 limit 15000")
		c.allowedOn(end, "iptables -A INPUT -i wire -m statistic --mode random --probability 0.05 -j DROP")
	}
	var bag []spoken
	for i := range 300 { // 2.4 Mbit, which are due within 0.3 s
		bag = append(bag, spoken{"/t", "/n", false, time.Duration(i) * time.Millisecond, fmt.Sprintf("%03d", i) + strings.Repeat("x", 1000)})
	}
	c.makeBag("t.bag", bag...)
	rec := c.startOn(near, "gorecord", "/t", "-O", "out")
	rec.printed("Recording to")
	c.startOn(far, "goplay", "t.bag", "--queue", "0", "--wait-for-subscribers").ended(0, "lost: none")
	rec.stop()
	contains(t, rec.out.String(), "lost: none", "missed: none", "broken links: none")
	got := read(t, filepath.Join(c.dir, "out.bag"))["/t"].Messages
	if len(got) != len(bag) {
		t.Fatalf("%d messages of %d", len(got), len(bag))
	}
	for i, m := range got {
		if string(m.Data[4:]) != bag[i].text {
			t.Fatalf("message %d is %.7q", i, m.Data)
		}
	}
	if took := got[len(got)-1].Time.Sub(got[0].Time); took < time.Second { // 2.4 s, but for how late the first was read
		t.Errorf("the line is not bad: all arrived in %v", took)
	}
}

// TestLinkIsReset (N7): a link that the kernel breaks is there again within half a second,
// and that is said.
func TestLinkIsReset(t *testing.T) {
	t.Parallel()
	need(t, "ss", "--version")
	g := newGraph(t, "gomaster")
	pub := g.advertise(g.node("robot"), "/t", false)
	rec := g.record("/t", "-O", "out")
	g.eventually("the link", func() bool { return pub.Subscribers() == 1 })
	src := pub.Source(false)
	publish := func(count int) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for range count {
			src.Publish(stringFrame("tick"))
			<-tick.C
		}
	}
	publish(20)
	peer := pub.Stats()[0].Peer
	if out, err := exec.Command("ss", "-K", "--tcp", "src", peer).CombinedOutput(); err != nil || !strings.Contains(string(out), peer) {
		t.Skipf("this kernel breaks no links: %v\n%s", err, out)
	}
	publish(50)
	g.eventually("the link again", func() bool { s := pub.Stats(); return len(s) == 1 && s[0].Peer != peer })
	publish(50)
	rec.signal(syscall.SIGINT)
	rec.ends(3)
	contains(t, rec.out.String(), "link lost", "broken links: /robot on /t (1, ", "lost: none")
	got := read(t, filepath.Join(g.dir, "out.bag"))["/t"]
	if gap := longestGap(got); gap > slackStall { // 0.1 s on a machine that has nothing else to do
		t.Errorf("%v without messages", gap)
	}
}
