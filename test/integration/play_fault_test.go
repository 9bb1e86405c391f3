package integration_test

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

	"github.com/gorosbag/gorosbag/internal/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
)

// deafSubscriber connects to a topic of a player as soon as that is there, reads the
// answer and then nothing more.
func (g *graph) deafSubscriber(n *tcpros.Node, player, topic string) {
	g.t.Helper()
	var address string
	g.eventually(topic+" is offered", func() bool {
		uri, err := n.Master().LookupNode(g.t.Context(), player)
		if err != nil {
			return false
		}
		answer, err := xmlrpc.Call(g.t.Context(), xmlrpc.NewHTTPClient(patience), uri, "requestTopic", "/deaf", topic, []any{[]any{"TCPROS"}})
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
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		g.t.Fatal(err)
	}
	header := tcpros.Header{
		{Key: "callerid", Value: "/deaf"},
		{Key: "md5sum", Value: "*"},
		{Key: "tcp_nodelay", Value: "1"},
		{Key: "topic", Value: topic},
		{Key: "type", Value: "*"},
	}
	if _, err := c.Write(tcpros.AppendHeader(nil, header)); err != nil {
		g.t.Fatal(err)
	}
	if _, err := tcpros.ReadHeader(c); err != nil {
		g.t.Fatal(err)
	}
}

// TestPlayToDeafSubscriber (N17): whoever never reads loses messages, which are counted
// for him; others get all, on time, and latched topics also when they come late.
func TestPlayToDeafSubscriber(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	var bag []spoken
	for i := range 200 {
		bag = append(bag, spoken{"/big", "/camera", false, time.Duration(i) * 10 * time.Millisecond, fmt.Sprintf("%03d", i) + strings.Repeat("x", 100_000)})
	}
	bag = append(bag, spoken{"/state", "/s1", true, 0, "A"})
	g.makeBag("big.bag", bag...)
	e := g.listen("ear", "/big", "/state")
	play := g.start("goplay", "big.bag", "-d", "1", "__name:=player")
	g.deafSubscriber(e.node, "/player", "/big")
	e.hears("/big", 100)
	late := g.listen("late", "/state")
	late.hears("/state", 1)
	play.ended(3, "/deaf", "by full queues")
	got := e.caught()
	var numbers []string
	for _, c := range got {
		if c.topic == "/big" {
			numbers = append(numbers, c.text()[:3])
		}
	}
	var want []string
	for i := range 200 {
		want = append(want, fmt.Sprintf("%03d", i))
	}
	if diff := cmp.Diff(want, numbers); diff != "" {
		t.Errorf("the other subscriber (-want +got):\n%s", diff)
	}
	if took := got[len(got)-1].at.Sub(got[0].at); took > 1990*time.Millisecond+slackLate {
		t.Errorf("2 s of the bag take %v", took)
	}
}

// TestPlayDamagedBag (N18): a bag that is damaged in the middle, or that becomes shorter
// while it is played, is played where it is good. What is not is said, with its place.
func TestPlayDamagedBag(t *testing.T) {
	t.Parallel()
	var bag []spoken
	for i := range 300 {
		bag = append(bag, spoken{"/t", "/n", false, time.Duration(i) * 10 * time.Millisecond, fmt.Sprintf("%03d", i) + strings.Repeat("y", 30_000)})
	}
	t.Run("damaged", func(t *testing.T) {
		t.Parallel()
		g := newGraph(t, "gomaster")
		g.makeBag("t.bag", bag...)
		path := filepath.Join(g.dir, "t.bag")
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
		e := g.listen("ear", "/t")
		p := g.start("goplay", "t.bag", "-d", "0.6", "-r", "5")
		p.ended(3, "t.bag", " at ")
		var lost []string // the chunk of the message
		got := e.texts("/t")
		for _, m := range bag {
			if len(got) > 0 && got[0] == m.text {
				got = got[1:]
			} else {
				lost = append(lost, m.text[:3])
			}
		}
		if len(got) > 0 || len(lost) > 40 || !slices.Contains(lost, "150") {
			t.Errorf("%d messages are not in order; %v are lost", len(got), lost)
		}
		contains(t, p.out.String(), fmt.Sprintf("lost: at most %d in damaged places", len(lost)))
	})
	t.Run("shrinks", func(t *testing.T) {
		t.Parallel()
		g := newGraph(t, "gomaster")
		g.makeBag("t.bag", manyChunks(bag)...)
		e := g.listen("ear", "/t")
		play := g.start("goplay", "t.bag", "-d", "0.6", "--pause", "__name:=player")
		g.served(e.node, "/player")
		st, err := os.Stat(filepath.Join(g.dir, "t.bag"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(g.dir, "t.bag"), st.Size()/2); err != nil {
			t.Fatal(err)
		}
		g.setPaused(e.node, "/player", false)
		play.ended(3, "t.bag")
		got := e.texts("/t")
		if half := len(manyChunks(bag)) / 2; len(got) < half-100 {
			t.Errorf("%d messages of the half that is left, %d", len(got), half)
		}
		for i, text := range got {
			if want := manyChunks(bag)[i].text[:3]; text[:3] != want {
				t.Fatalf("message %d is %.3q, want %q", i, text, want)
			}
		}
	})
}

// manyChunks makes the bag longer than what is read ahead.
func manyChunks(bag []spoken) []spoken {
	var all []spoken
	for i, m := range bag {
		for j := range 10 {
			m.at = time.Duration(i*10+j) * 300 * time.Microsecond
			all = append(all, m)
		}
	}
	return all
}

// TestPlayLossless: where stock drops most of what it sends as fast as it can, or when a
// subscriber is slow, ours waits for whoever reads, and drains at the end.
func TestPlayLossless(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	var bag []spoken
	for i := range 5000 {
		bag = append(bag, spoken{"/t", "/n", false, time.Duration(i) * time.Microsecond, fmt.Sprintf("%04d", i) + strings.Repeat("z", 2000)})
	}
	g.makeBag("fast.bag", bag...)
	e := g.listen("ear", "/t")
	for _, args := range []string{"--overflow block", "--queue 0"} {
		before := len(e.caught())
		g.start("goplay", append([]string{"fast.bag", "-i", "-d", "0.6"}, strings.Fields(args)...)...).ended(0, "lost: none")
		got := e.caught()[before:]
		for i, c := range got {
			if c.text()[:4] != fmt.Sprintf("%04d", i) {
				t.Fatalf("%s: message %d is %.4q", args, i, c.text())
			}
		}
		if len(got) != len(bag) {
			t.Errorf("%s: %d messages of %d", args, len(got), len(bag))
		}
	}
}

// TestPlayHeldUp: whoever never reads holds lossless play up. The log names him, and an
// interrupt ends play at once all the same.
func TestPlayHeldUp(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	var bag []spoken
	for i := range 200 {
		bag = append(bag, spoken{"/big", "/camera", false, time.Duration(i) * 10 * time.Millisecond, strings.Repeat("x", 100_000)})
	}
	g.makeBag("big.bag", bag...)
	play := g.start("goplay", "big.bag", "--immediate", "--wait-for-subscribers", "__name:=player")
	g.deafSubscriber(g.listen("ear", "/other").node, "/player", "/big")
	play.printed("/deaf of /big")
	began := time.Now()
	play.signal(syscall.SIGINT)
	play.ended(0, "lost: none")
	if took := time.Since(began); took > time.Second+slackLate {
		t.Errorf("the end takes %v", took)
	}
}
