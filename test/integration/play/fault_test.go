package play_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// deafSubscriber connects to a topic of a player as soon as that is there, reads the
// answer and then nothing more.
func deafSubscriber(g *harness.Graph, n *tcpros.Node, player, topic string) {
	g.T.Helper()
	connect(g, n, player, topic, "/deaf")
}

// connect is deafSubscriber for a subscriber of any name. It returns the answer.
func connect(g *harness.Graph, n *tcpros.Node, player, topic, name string) tcpros.Header {
	g.T.Helper()
	var address string
	hc := xmlrpc.NewHTTPClient(harness.Timeout)
	defer hc.CloseIdleConnections() // each has a descriptor of the player
	g.Eventually(topic+" is offered", func() bool {
		uri, err := n.Master().LookupNode(g.T.Context(), player)
		if err != nil {
			return false
		}
		answer, err := xmlrpc.Call(g.T.Context(), hc, uri, "requestTopic", "/deaf", topic, []any{[]any{"TCPROS"}})
		if err != nil {
			return false
		}
		triple, _ := answer.([]any)
		if len(triple) != 3 {
			return false
		}
		protocol, _ := triple[2].([]any)
		if len(protocol) != 3 {
			return false
		}
		address = net.JoinHostPort(fmt.Sprint(protocol[1]), fmt.Sprint(protocol[2]))
		return true
	})
	c, err := net.Dial("tcp", address)
	if err != nil {
		g.T.Fatal(err)
	}
	g.T.Cleanup(func() { c.Close() })
	if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		g.T.Fatal(err)
	}
	header := tcpros.Header{
		{Key: "callerid", Value: name},
		{Key: "md5sum", Value: "*"},
		{Key: "tcp_nodelay", Value: "1"},
		{Key: "topic", Value: topic},
		{Key: "type", Value: "*"},
	}
	if _, err := c.Write(tcpros.AppendHeader(nil, header)); err != nil {
		g.T.Fatal(err)
	}
	answer, err := tcpros.ReadHeader(c)
	if err != nil {
		g.T.Fatal(err)
	}
	return answer
}

// TestPlayToDeafSubscriber (N17): a subscriber that never reads loses messages, which are counted for
// it. The others get all messages in time, and latched messages also when they subscribe late.
func TestPlayToDeafSubscriber(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a subscriber that does not read")
	g := harness.NewGraph(t, "gomaster")
	var bag []bags.StringMessage
	// The queue holds four seconds: a busy machine may let the one who reads stand still. What
	// it and the sockets hold is less than all.
	const messages, period, queue = 240, 25 * time.Millisecond, "170"
	for i := range messages {
		bag = append(bag, bags.StringMessage{Topic: "/big", Node: "/camera", Latching: false, At: time.Duration(i) * period, Text: fmt.Sprintf("%03d", i) + strings.Repeat("x", 100_000)})
	}
	bag = append(bag, bags.StringMessage{Topic: "/state", Node: "/s1", Latching: true, At: 0, Text: "A"})
	bags.Make(g, "big.bag", bag...)
	e := peers.Listen(g, "listener", "/big", "/state")
	play := g.Start("goplay", "big.bag", "--pause", "--keep-alive", "--queue", queue, "__name:=player")
	deafSubscriber(g, e.Node, "/player", "/big")
	e.WaitLinked()
	peers.Served(g, e.Node, "/player")
	stalls := g.Stalls(play)
	peers.SetPaused(g, e.Node, "/player", false)
	e.WaitFor("/big", 100)
	late := peers.Listen(g, "late", "/state")
	late.WaitFor("/state", 1)
	e.WaitFor("/big", messages)
	still := stalls()
	if _, err := e.Node.CallService(t.Context(), "/player/stop", tcpros.TriggerService, nil); err != nil {
		t.Fatal(err)
	}
	play.Ended(3, "/deaf", "by full queues")
	got := e.Received()
	var numbers []string
	for _, c := range got {
		if c.Topic == "/big" {
			numbers = append(numbers, c.Text()[:3])
		}
	}
	var want []string
	for i := range messages {
		want = append(want, fmt.Sprintf("%03d", i))
	}
	if diff := cmp.Diff(want, numbers); diff != "" {
		t.Errorf("the other subscriber (-want +got):\n%s", diff)
	}
	if took := got[len(got)-1].At.Sub(got[0].At); took > messages*period+harness.SlackLate+still {
		t.Errorf("%v of the bag take %v, of which the machine stood still for %v", messages*period, took, still)
	}
}

// TestPlayDamagedBag (N18): of a bag that is damaged in the middle, or that becomes shorter while it is
// played, all intact messages are played. The log names the place of the damage.
func TestPlayDamagedBag(t *testing.T) {
	t.Parallel()
	var bag []bags.StringMessage
	for i := range 300 {
		bag = append(bag, bags.StringMessage{Topic: "/t", Node: "/n", Latching: false, At: time.Duration(i) * 10 * time.Millisecond, Text: fmt.Sprintf("%03d", i) + strings.Repeat("y", 30_000)})
	}
	t.Run("damaged", func(t *testing.T) {
		t.Parallel()
		g := harness.NewGraph(t, "gomaster")
		bags.Make(g, "t.bag", bag...)
		path := filepath.Join(g.Dir, "t.bag")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(data, []byte("150yyy")) // the header of this message, in front, is lost
		for i := at - 60; i < at-4; i++ {
			data[i] = 0xff
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		e := peers.Listen(g, "listener", "/t")
		p := g.Start("goplay", "t.bag", "--wait-for-subscribers", "--overflow", "block", "-r", "5")
		p.Ended(3, "t.bag", " at ")
		var lost []string // the chunk of the message
		got := e.Texts("/t")
		for _, m := range bag {
			if len(got) > 0 && got[0] == m.Text {
				got = got[1:]
			} else {
				lost = append(lost, m.Text[:3])
			}
		}
		if len(got) > 0 || len(lost) > 40 || !slices.Contains(lost, "150") {
			t.Errorf("%d messages are not in order; %v are lost", len(got), lost)
		}
		harness.Contains(t, p.Out.String(), fmt.Sprintf("lost: at most %d in damaged places", len(lost)))
	})
	t.Run("cut", func(t *testing.T) {
		t.Parallel()
		g := harness.NewGraph(t, "gomaster")
		bags.Make(g, "t.bag", bag...)
		path := filepath.Join(g.Dir, "t.bag")
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, st.Size()/2); err != nil {
			t.Fatal(err)
		}
		p := g.Start("goplay", "t.bag", "-i")
		p.Ended(3, "an unknown number in damaged places of the bags (2)")
		harness.Contains(t, p.Out.String(), "lost: an unknown number in damaged places of the bags (2)")
		harness.Contains(t, p.Out.String(), `"lost messages": "an unknown number"`)
	})
	t.Run("shrinks", func(t *testing.T) {
		t.Parallel()
		g := harness.NewGraph(t, "gomaster")
		bags.Make(g, "t.bag", manyChunks(bag)...)
		e := peers.Listen(g, "listener", "/t")
		play := g.Start("goplay", "t.bag", "--wait-for-subscribers", "--pause", "--overflow", "block", "__name:=player")
		peers.Served(g, e.Node, "/player")
		st, err := os.Stat(filepath.Join(g.Dir, "t.bag"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(g.Dir, "t.bag"), st.Size()/2); err != nil {
			t.Fatal(err)
		}
		peers.SetPaused(g, e.Node, "/player", false)
		play.Ended(3, "t.bag")
		got := e.Texts("/t")
		if half := len(manyChunks(bag)) / 2; len(got) < half-100 {
			t.Errorf("%d messages of the half that is left, %d", len(got), half)
		}
		for i, text := range got {
			if want := manyChunks(bag)[i].Text[:3]; text[:3] != want {
				t.Fatalf("message %d is %.3q, want %q", i, text, want)
			}
		}
	})
}

// manyChunks makes the bag longer than what is read ahead.
func manyChunks(bag []bags.StringMessage) []bags.StringMessage {
	var all []bags.StringMessage
	for i, m := range bag {
		for j := range 10 {
			m.At = time.Duration(i*10+j) * 300 * time.Microsecond
			all = append(all, m)
		}
	}
	return all
}

// TestPlayLossless: where stock drops most of what it sends as fast as it can, or when a
// subscriber is slow, ours waits for whoever reads, and drains at the end.
func TestPlayLossless(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	var bag []bags.StringMessage
	for i := range 5000 {
		bag = append(bag, bags.StringMessage{Topic: "/t", Node: "/n", Latching: false, At: time.Duration(i) * time.Microsecond, Text: fmt.Sprintf("%04d", i) + strings.Repeat("z", 2000)})
	}
	bags.Make(g, "fast.bag", bag...)
	e := peers.Listen(g, "listener", "/t")
	for _, args := range []string{"--overflow block", "--queue 0"} {
		before := len(e.Received())
		g.Start("goplay", append([]string{"fast.bag", "-i", "--wait-for-subscribers"}, strings.Fields(args)...)...).Ended(0, "lost: none")
		got := e.Received()[before:]
		for i, c := range got {
			if c.Text()[:4] != fmt.Sprintf("%04d", i) {
				t.Fatalf("%s: message %d is %.4q", args, i, c.Text())
			}
		}
		if len(got) != len(bag) {
			t.Errorf("%s: %d messages of %d", args, len(got), len(bag))
		}
	}
}

// TestPlayUDPOnly: a subscriber that takes UDPROS only gets nothing, and is named once.
func TestPlayUDPOnly(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "walk.bag", bags.Walk()...)
	play := g.Start("goplay", "walk.bag", "-k", "__name:=player")
	n := peers.Node(g, "looker")
	hc := xmlrpc.NewHTTPClient(harness.Timeout)
	uri := ""
	g.Eventually("the player is registered", func() (ok bool) {
		var err error
		uri, err = n.Master().LookupNode(t.Context(), "/player")
		return err == nil
	})
	for range 2 {
		if _, err := xmlrpc.Call(t.Context(), hc, uri, "requestTopic", "/listener", "/chatter", []any{[]any{"UDPROS", []byte("header"), "127.0.0.1", 1234, 1500}}); err != nil {
			t.Fatal(err)
		}
	}
	play.Signal(syscall.SIGINT)
	play.Ended(3, "lost: all for subscribers that take UDPROS only (1: /listener of /chatter)")
	if n := strings.Count(play.Out.String(), "a subscriber gets nothing: it takes UDPROS only"); n != 1 {
		t.Errorf("warned %d times:\n%s", n, play.Out.String())
	}
}

// TestPlayFewFiles: the limit of open files is the only limit of subscribers. Those that it leaves out are named.
func TestPlayFewFiles(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "walk.bag", bags.Walk()...)
	play := g.Command("goplay", "walk.bag", "-k", "__name:=player")
	p := g.Launch("goplay", g.Command("/usr/bin/prlimit", append([]string{"--nofile=64"}, play.Args...)...))
	n := peers.Node(g, "looker")
	for i := range 31 {
		answer := connect(g, n, "/player", "/chatter", fmt.Sprint("/s", i))
		if text := answer.Value("error"); strings.Contains(text, "no file descriptor is left") != (i == 30) {
			t.Errorf("subscriber %d: %q", i, text)
		}
	}
	p.Signal(syscall.SIGINT)
	p.Ended(3, "lost: all for subscribers that no file descriptor was left for (1: /s30 of /chatter)")
	if !strings.Contains(p.Out.String(), "allow more open files (ulimit -n") {
		t.Errorf("no advice:\n%s", p.Out.String())
	}
}

// TestPlayNoMaster: an interrupt while the master does not answer is no success.
func TestPlayNoMaster(t *testing.T) {
	t.Parallel()
	g := &harness.Graph{T: t, Port: harness.FreePort(t), Dir: t.TempDir()}
	bags.Make(g, "walk.bag", bags.Walk()...)
	play := g.Start("goplay", "walk.bag")
	play.Printed("Failed to contact master")
	play.Signal(syscall.SIGINT)
	play.Ended(3, "lost: all, for the master never answered", "goplay: not all was played: all, for the master never answered")
}

// TestPlayHeldUp: a subscriber that never reads stops lossless play. The log names it, and an interrupt
// ends play at once all the same.
func TestPlayHeldUp(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	var bag []bags.StringMessage
	for i := range 200 {
		bag = append(bag, bags.StringMessage{Topic: "/big", Node: "/camera", Latching: false, At: time.Duration(i) * 10 * time.Millisecond, Text: strings.Repeat("x", 100_000)})
	}
	bags.Make(g, "big.bag", bag...)
	play := g.Start("goplay", "big.bag", "--immediate", "--wait-for-subscribers", "__name:=player")
	deafSubscriber(g, peers.Listen(g, "listener", "/other").Node, "/player", "/big")
	play.Printed("/deaf of /big")
	stalls, began := g.Stalls(play), time.Now()
	play.Signal(syscall.SIGINT)
	play.Ended(0, "lost: none")
	if took, still := time.Since(began), stalls(); took > time.Second+harness.SlackLate+still {
		t.Errorf("the end takes %v, of which the machine stood still for %v", took, still)
	}
}
