package stock_test

import (
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// The tests below give both recorders a graph that changes or misbehaves, each its own.

// both starts ours and, where it is installed, stock.
func both(g *harness.Graph, args string, w want) []*outcome {
	g.T.Helper()
	row := &recordRow{args: args, ours: w}
	all := []*outcome{row.start(g.T, g, "", "ours")}
	if !harness.ROSMissing() {
		all = append(all, row.start(g.T, g, "", "stock"))
	}
	return all
}

func waitRecorded(t *testing.T, all []*outcome) {
	t.Helper()
	for _, o := range all {
		harness.Eventually(t, o.who+" has recorded "+o.want.topics, o.recorded)
	}
}

// endBoth ends both and compares what they have.
func endBoth(t *testing.T, all []*outcome, row *recordRow) {
	t.Helper()
	for _, o := range all {
		o.p.Signal(syscall.SIGINT)
	}
	for _, o := range all {
		o.finish(t, row)
	}
	compareOutcomes(t, row, all)
}

// talkTo sends numbered strings on a link until it ends.
func talkTo(conn net.Conn, h tcpros.Header, word string) {
	if _, err := conn.Write(tcpros.AppendHeader(nil, h)); err != nil {
		return
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		if _, err := conn.Write(peers.StringFrame(word + " " + strconv.Itoa(i))); err != nil {
			return
		}
		<-tick.C
	}
}

func chatterHeader(caller, typ, md5 string) tcpros.Header {
	return tcpros.Header{
		{Key: "callerid", Value: caller},
		{Key: "latching", Value: "0"},
		{Key: "md5sum", Value: md5},
		{Key: "message_definition", Value: "string data\n"},
		{Key: "topic", Value: "/chatter"},
		{Key: "type", Value: typ},
	}
}

// TestStockName: 14, the name of the node and its private parameters.
func TestStockName(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	g := harness.NewGraph(t, "gomaster")
	peers.Talk(g, "one", "/chatter")
	all := both(g, "/chatter -O x __name:=rec_{who} _n:=7 _f:=2.5 _on:=true _s:=abc", want{files: "x.bag", topics: "/chatter"})
	waitRecorded(t, all)
	n := peers.Node(g, "asks")
	for _, o := range all {
		if _, err := n.Master().LookupNode(t.Context(), "/rec_"+o.who); err != nil {
			t.Errorf("%s: %v", o.who, err)
		}
		for key, w := range map[string]any{"n": 7, "f": 2.5, "on": true, "s": "abc"} {
			if v, _, err := n.Master().Param(t.Context(), "/rec_"+o.who+"/"+key); err != nil || v != w {
				t.Errorf("%s: parameter %s is %v, %v", o.who, key, v, err)
			}
		}
	}
	endBoth(t, all, &recordRow{})
}

// TestStockOddHeader: 17, fields that nobody knows are kept, and those that every
// reader needs are there. Stock sorts them; ours leaves them as they came.
func TestStockOddHeader(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	g := harness.NewGraph(t, "gomaster")
	peers.FakePublisher(g, "/one", "/chatter", func(_ tcpros.Header, conn net.Conn) {
		talkTo(conn, tcpros.Header{
			{Key: "zfoo", Value: "bar"}, {Key: "callerid", Value: "/one"}, {Key: "md5sum", Value: peers.StringMD5}, {Key: "type", Value: "std_msgs/String"},
		}, "odd")
	})
	all := both(g, "-a -O x", want{files: "x.bag", topics: "/chatter"})
	waitRecorded(t, all)
	endBoth(t, all, &recordRow{apart: true, check: func(t *testing.T, o *outcome) {
		h := o.topics["/chatter"].Headers[0]
		foo, _ := h.Get("zfoo")
		if definition, ok := h.Get("message_definition"); foo != "bar" || !ok || definition != "" {
			t.Errorf("%s: %q", o.who, h)
		}
	}})
}

// TestStockPublisherRestarts: 33 and 35. A publisher crashes and comes back under its
// name; then once more with another type, which stock does not record.
func TestStockPublisherRestarts(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	g := harness.NewGraph(t, "gomaster")
	publish := func(word, typ, md5 string) func() {
		return peers.FakePublisher(g, "/phoenix", "/chatter", func(_ tcpros.Header, conn net.Conn) {
			talkTo(conn, chatterHeader("/phoenix", typ, md5), word)
		})
	}
	has := func(o *outcome, word string) bool {
		return slices.ContainsFunc(o.soFar()["/chatter"], func(m string) bool { return strings.Contains(m, word) })
	}
	crash := publish("first", "std_msgs/String", peers.StringMD5)
	all := both(g, "/chatter -O x", want{files: "x.bag", topics: "/chatter"})
	waitRecorded(t, all)
	crash()
	crash = publish("second", "std_msgs/String", peers.StringMD5)
	back := time.Now()
	for _, o := range all {
		harness.Eventually(t, o.who+" records again", func() bool { return has(o, "second") })
	}
	crash()
	publish("third", "std_msgs/Other", strings.Repeat("0", 32))
	harness.Eventually(t, "ours records the other type", func() bool { return has(all[0], "third") })
	endBoth(t, all, &recordRow{apart: true, check: func(t *testing.T, o *outcome) {
		topic := o.topics["/chatter"]
		types := 1
		if o.who == "ours" {
			types = 2
		}
		if n := len(topic.Headers); n != types && (o.who == "ours" || n > 2) { // on a busy machine stock may record the third, too
			t.Errorf("%s: %d connections, want %d", o.who, n, types)
		}
		for _, m := range topic.Messages {
			if gone := m.Time.Std().Sub(back); strings.Contains(string(m.Data), "second 0") && gone > 15*time.Second { // below one on an idle machine; roscpp waits up to 20 s for one that it does not reach
				t.Errorf("%s: back after %v", o.who, gone)
			}
		}
	}})
}

// TestStockBacksOff: 34, a publisher that hangs up is tried again after 0.1 s, then
// after twice as long each time. Ours varies that by a fifth.
func TestStockBacksOff(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	g := harness.NewGraph(t, "gomaster")
	var mu sync.Mutex
	attempts := map[string][]time.Time{}
	peers.FakePublisher(g, "/one", "/chatter", func(h tcpros.Header, conn net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		caller, _ := h.Get("callerid")
		attempts[caller] = append(attempts[caller], time.Now())
		conn.Close()
	})
	stalls := g.Stalls()
	all := both(g, "/chatter -O x __name:={who}", want{files: "x.bag"})
	of := func(who string) []time.Time {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(attempts["/"+who])
	}
	for _, o := range all {
		harness.Eventually(t, o.who+" tries four times", func() bool { return len(of(o.who)) >= 4 })
	}
	still := stalls() // the attempt before may have been seen so late
	endBoth(t, all, &recordRow{})
	for _, o := range all {
		tries, least := of(o.who), 80*time.Millisecond
		for i := range 3 {
			if gap := tries[i+1].Sub(tries[i]); gap < least*9/10-still || gap > 3*least+8*time.Second {
				t.Errorf("%s: wait %d takes %v, want about %v", o.who, i, gap, least*5/4)
			}
			least *= 2
		}
	}
}

// TestStockSubscriberHeader: 45, what a publisher is told about its subscriber.
func TestStockSubscriberHeader(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	for option, noDelay := range map[string]string{"": "0", "--tcpnodelay": "1"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			headers := make(chan tcpros.Header, 10)
			peers.FakePublisher(g, "/one", "/chatter", func(h tcpros.Header, conn net.Conn) {
				headers <- h
				talkTo(conn, chatterHeader("/one", "std_msgs/String", peers.StringMD5), "one")
			})
			all := both(g, "/chatter -O x __name:={who} "+option, want{files: "x.bag", topics: "/chatter"})
			waitRecorded(t, all)
			for range all {
				h := <-headers
				caller, _ := h.Get("callerid")
				w := tcpros.Header{
					{Key: "callerid", Value: caller},
					{Key: "md5sum", Value: "*"},
					{Key: "tcp_nodelay", Value: noDelay},
					{Key: "topic", Value: "/chatter"},
					{Key: "type", Value: "*"},
				}
				if caller != "/ours" && caller != "/stock" || !slices.Equal(h, w) {
					t.Errorf("%q, want %q", h, w)
				}
			}
			endBoth(t, all, &recordRow{})
		})
	}
}

// TestStockNoMaster: 36, both wait for a master, and record when it comes.
func TestStockNoMaster(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	g := &harness.Graph{T: t, Kind: "gomaster", Port: harness.FreePort(t), Dir: t.TempDir()}
	all := both(g, "/chatter -O x", want{files: "x.bag", topics: "/chatter", says: "Failed to contact master at [127.0.0.1:" + g.Port + "]"})
	for _, o := range all {
		o.p.Printed(o.want.says)
	}
	g.StartMaster()
	peers.Talk(g, "one", "/chatter")
	waitRecorded(t, all)
	endBoth(t, all, &recordRow{})
}

// TestStockIsToldToEnd: 40 and 41, by a node that takes the name, and by rosnode kill.
func TestStockIsToldToEnd(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	for reason, end := range map[string]func(*harness.Graph, string){
		"new node registered with same name": func(g *harness.Graph, name string) {
			peers.Advertise(g, peers.Node(g, name), "/other", false)
		},
		"user request": func(g *harness.Graph, name string) {
			n := peers.Node(g, "kills_"+name)
			uri, err := n.Master().LookupNode(g.T.Context(), "/"+name)
			if err != nil {
				g.T.Fatal(err)
			}
			if _, err := xmlrpc.Call(g.T.Context(), xmlrpc.NewHTTPClient(harness.Timeout), uri, "shutdown", "/rosnode", "user request"); err != nil {
				g.T.Fatal(err)
			}
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			peers.Talk(g, "one", "/chatter")
			all := both(g, "/chatter -O x __name:={who}", want{files: "x.bag", topics: "/chatter", says: "Shutdown request received."})
			waitRecorded(t, all)
			if reason != "user request" {
				all[0].want.code = 3 // nobody wanted the recording to end
			}
			for _, o := range all {
				end(g, o.who)
			}
			for _, o := range all {
				o.finish(t, &recordRow{})
				harness.Contains(t, o.p.Out.String(), reason)
			}
		})
	}
}

// TestStockSameCounts: a publisher that waits for both is recorded by both from its
// first to its last message, also at a split.
func TestStockSameCounts(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	g := harness.NewGraph(t, "gomaster")
	pub := peers.Advertise(g, peers.Node(g, "one"), "/chatter", false)
	s := pub.Source(false)
	all := both(g, "/chatter -O x --split --duration 0.5", want{files: anything, topics: "/chatter"})
	g.Eventually("both listen", func() bool { return pub.Subscribers() == len(all) })
	const count = 300
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	for i := range count {
		s.Publish(peers.StringFrame("one " + strconv.Itoa(i)))
		<-tick.C
		if i%40 == 39 { // stock's queue holds a hundred
			for _, o := range all {
				harness.Eventually(t, o.who+" keeps up", func() bool { return len(o.soFar()["/chatter"]) > i-40 })
			}
		}
	}
	for _, o := range all {
		harness.Eventually(t, o.who+" has all", func() bool { return len(o.soFar()["/chatter"]) == count })
	}
	endBoth(t, all, &recordRow{check: messages("/chatter", count)})
}

// TestStockBurst: 32, sixty thousand messages at once, of which stock's queue of a
// hundred loses most.
func TestStockBurst(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	g := harness.NewGraph(t, "gomaster")
	pub := peers.Advertise(g, peers.Node(g, "one"), "/chatter", false)
	s := pub.Source(false)
	const count = 60_000
	all := both(g, "/chatter -O x -l "+strconv.Itoa(count), want{files: "x.bag", topics: "/chatter"})
	g.Eventually("both listen", func() bool { return pub.Subscribers() == len(all) })
	for i := range count {
		s.Publish(peers.StringFrame("one " + strconv.Itoa(i)))
	}
	all[0].finish(t, &recordRow{check: messages("/chatter", count)})
	for _, o := range all[1:] {
		o.p.Signal(syscall.SIGINT)
		o.p.Wait()
		t.Logf("stock has %d of %d messages", len(o.soFar()["/chatter"]), count)
	}
}

// TestStockBeginWrite: 27, the name of each file on a latched topic in the namespace.
func TestStockBeginWrite(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	g := harness.NewGraph(t, "gomaster")
	listener := g.Record("/ours/begin_write", "/stock/begin_write", "-O", "heard", "--flush-interval", "50ms")
	all := both(g, "-p --split --duration=0.8 __ns:=/{who} /nothing -O x", want{files: anything})
	for _, o := range all {
		harness.Eventually(t, o.who+" is in its third file", func() bool {
			return len((&outcome{dir: g.Dir}).soFar()["/"+o.who+"/begin_write"]) >= 3
		})
	}
	endBoth(t, all, &recordRow{})
	listener.Stop()
	heard := bags.Read(t, filepath.Join(g.Dir, "heard.bag"))
	for _, o := range all {
		topic := heard["/"+o.who+"/begin_write"]
		if topic == nil || !topic.Headers[0].Latching() || topic.Headers[0].Type() != "std_msgs/String" {
			t.Errorf("%s: %+v", o.who, topic)
			continue
		}
		var names []string
		for _, m := range topic.Messages {
			names = append(names, string(m.Data[4:]))
		}
		if n := min(len(names), len(o.files)); n < 3 || !slices.Equal(names[:n], o.files[:n]) { // the last may come too late
			t.Errorf("%s says %v and writes %v", o.who, names, o.files)
		}
	}
}

// TestStockRepeatsLatched: 44, a file begins with the latest latched message under the
// header of its publisher. Stock repeats the first one, under a header that says
// neither who sent it nor that it latches.
func TestStockRepeatsLatched(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	g := harness.NewGraph(t, "gomaster")
	s := peers.Advertise(g, peers.Node(g, "one"), "/latched", true).Source(true)
	s.Publish(peers.StringFrame("old"))
	all := both(g, "/latched -O x --repeat-latched --split --duration 0.6", want{files: anything, topics: "/latched"})
	waitRecorded(t, all)
	s.Publish(peers.StringFrame("new"))
	for _, o := range all {
		files := len(o.names(".bag"))
		harness.Eventually(t, o.who+" has closed a later file", func() bool { return len(o.names(".bag")) >= files+2 })
	}
	endBoth(t, all, &recordRow{apart: true, check: func(t *testing.T, o *outcome) {
		last := "x_" + strconv.Itoa(len(o.files)-1) + ".bag"
		topic := bags.Read(t, filepath.Join(o.dir, last))["/latched"]
		if topic == nil || len(topic.Messages) != 1 {
			t.Fatalf("%s: %s has %+v", o.who, last, topic)
		}
		text, caller := string(topic.Messages[0].Data[4:]), "/one"
		repeated := "new"
		if o.who == "stock" {
			caller, repeated = "", "old"
		}
		if h := topic.Headers[0]; text != repeated || h.CallerID() != caller || h.Latching() != (caller != "") {
			t.Errorf("%s: %s begins with %q of %q", o.who, last, text, h)
		}
	}})
}
