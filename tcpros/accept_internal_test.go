package tcpros

import (
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/publink"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// pipeNode is a node without network or master that publishes /t.
func pipeNode() (*Node, *Publication) {
	n := &Node{name: "/n", log: zap.NewNop(), timing: defaultTiming(), pending: wire.NewPending(zap.NewNop()), graph: graph{pubs: map[string]*Publication{}}}
	p := &Publication{node: n, out: publink.New(publink.Options{Type: names.AnyType, MD5Sum: wire.AnyMD5}, "/t", n.name)}
	n.graph.pubs["/t"] = p
	return n, p
}

// An accepted subscriber gets the latched messages, even if the node drains before the subscriber
// has read its reply.
func TestAcceptedWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, p := pipeNode()
		want := []byte("\x07\x00\x00\x00latched")
		p.Source(true).Publish(want)
		here, there := net.Pipe()
		var wg sync.WaitGroup
		defer wg.Wait()
		defer there.Close()
		wg.Go(func() {
			(&tcprosServer{node: n}).handle(here, n.pending.Accept(here))
			_ = here.Close()
		})
		if _, err := there.Write(wire.AppendHeader(nil, wire.Header{
			{Key: "callerid", Value: "/s"}, {Key: "md5sum", Value: wire.AnyMD5}, {Key: "topic", Value: "/t"},
		})); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the reply waits for us to read it
		wg.Go(func() {
			if err := n.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if h, err := wire.ReadHeader(there); err != nil || h.Value("topic") != "/t" {
			t.Fatalf("reply %v, %v", h, err)
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(there, got); err != nil || string(got) != string(want) {
			t.Errorf("got %q, %v", got, err)
		}
		synctest.Wait() // everything is sent
	})
}
