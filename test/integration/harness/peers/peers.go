// Package peers is nodes in the process of the tests: they publish to the programs under test, subscribe
// to them and call their services.
package peers

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// Register tells the master of a publisher with this slave URI.
func Register(g *harness.Graph, node, topic, uri string) {
	g.T.Helper()
	_, err := xmlrpc.Call(g.T.Context(), xmlrpc.NewHTTPClient(harness.Timeout), g.URI(), "registerPublisher", node, topic, "a/B", uri)
	if err != nil {
		g.T.Fatal(err)
	}
}

// Node starts a node of ours in this process.
func Node(g *harness.Graph, name string) *tcpros.Node {
	g.T.Helper()
	n, err := tcpros.NewNode(g.T.Context(), tcpros.NodeOptions{
		BaseName: name, MasterURI: g.URI(), Getenv: func(string) string { return "" },
	})
	if err != nil {
		g.T.Fatal(err)
	}
	g.T.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = n.Close(ctx)
	})
	return n
}

// FakePublisher registers a publisher at the master and calls serve for each of its links, after
// the header was read. The returned function ends the publisher as a crash does: the master is not
// told.
func FakePublisher(g *harness.Graph, node, topic string, serve func(h tcpros.Header, conn net.Conn)) (crash func()) {
	g.T.Helper()
	data, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.T.Fatal(err)
	}
	api, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.T.Fatal(err)
	}
	server := xmlrpc.NewServer(func(context.Context, string, string, []any) (any, error) {
		return []any{1, "ready", []any{"TCPROS", "127.0.0.1", data.Addr().(*net.TCPAddr).Port}}, nil
	}, xmlrpc.ServerOptions{})
	go server.Serve(api)
	var mu sync.Mutex
	var links []net.Conn
	go func() {
		for {
			conn, err := data.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			links = append(links, conn)
			mu.Unlock()
			go func() {
				if h, err := tcpros.ReadHeader(conn); err == nil {
					serve(h, conn)
				}
			}()
		}
	}()
	crash = sync.OnceFunc(func() {
		data.Close()
		server.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range links {
			conn.Close()
		}
	})
	g.T.Cleanup(crash)
	Register(g, node, topic, "http://"+api.Addr().String()+"/")
	return crash
}

// Talk publishes numbered strings fifty times a second; on /latched one, latched.
func Talk(g *harness.Graph, name string, topics ...string) {
	g.T.Helper()
	n := Node(g, name)
	var sources []*tcpros.Source
	var pads []string
	for _, topic := range topics {
		latching := topic == "/latched"
		s := Advertise(g, n, topic, latching).Source(latching)
		if latching {
			s.Publish(StringFrame(name))
			continue
		}
		pad := ""
		if topic == "/big" {
			pad = strings.Repeat("x", 20_000)
		}
		sources, pads = append(sources, s), append(pads, pad)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			for k, s := range sources {
				s.Publish(StringFrame(fmt.Sprint(name, i, pads[k])))
			}
		}
	}()
	g.T.Cleanup(func() {
		cancel()
		<-done
	})
}

// Advertise offers a topic of type std_msgs/String.
func Advertise(g *harness.Graph, n *tcpros.Node, topic string, latching bool) *tcpros.Publication {
	g.T.Helper()
	p, err := n.Advertise(tcpros.AdvertiseOptions{
		Topic: topic, Type: "std_msgs/String", MD5Sum: StringMD5, MessageDefinition: "string data\n", Latching: latching,
	})
	if err != nil {
		g.T.Fatal(err)
	}
	return p
}

// StringMD5 is the MD5 sum of std_msgs/String.
const StringMD5 = "992ce8a1687cec8c8bd883ec73ca41d1"

// StringFrame is a message of type std_msgs/String on the wire.
func StringFrame(text string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(4+len(text)))
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}
