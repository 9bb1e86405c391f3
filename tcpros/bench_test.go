package tcpros_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// tally counts bytes and stores none.
type tally struct {
	bytes atomic.Int64
	scrap []byte
}

func (s *tally) Frames(run []byte, _ int, _ time.Time) { s.bytes.Add(int64(len(run))) }
func (s *tally) Closed(error)                          {}

func (s *tally) Large(n int) tcpros.LargeFrame { return &tallyFrame{s, n} }

type tallyFrame struct {
	s *tally
	n int
}

func (f *tallyFrame) Room(n int) []byte { return f.s.scrap[:min(n, len(f.s.scrap))] }
func (f *tallyFrame) Commit(time.Time)  { f.s.bytes.Add(int64(f.n)) }
func (f *tallyFrame) Abort()            {}

var benchSizes = []int{100, 1 << 10, 64 << 10, 1 << 20, 8 << 20}

// BenchmarkLink is one link from a plain socket, to which the benchmark writes as fast as possible.
func BenchmarkLink(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("msg=%d", size), func(b *testing.B) {
			f := append(binary.LittleEndian.AppendUint32(nil, uint32(size)), make([]byte, size)...)
			batch := max(1, (256<<10)/len(f))
			many := bytes.Repeat(f, batch)
			total := int64(b.N) * int64(len(f))
			runLink(b, func(c net.Conn) {
				for left := b.N; left > 0; left -= batch {
					_, _ = c.Write(many[:min(left, batch)*len(f)])
				}
				waitClosed(c)
			}, total)
			b.SetBytes(int64(len(f)))
		})
	}
}

func runLink(b *testing.B, send func(net.Conn), total int64) {
	b.Helper()
	m, err := master.New(b.Context(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	n, err := tcpros.NewNode(b.Context(), nodeOptions("sub", m.URI()))
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close(b.Context())
	p := newFakePublisher(b, "/t", func(c net.Conn) {
		_, _ = c.Write(tcpros.AppendHeader(nil, goodHeader("/t")))
		send(c)
	})
	defer p.close()
	p.register(m.URI(), "/fake")
	s := &tally{scrap: make([]byte, 1<<20)}
	opened := make(chan struct{})
	_, err = n.Subscribe(tcpros.SubscribeOptions{Topic: "/t", Open: func(tcpros.LinkInfo) (tcpros.LinkSink, error) {
		close(opened)
		return s, nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	<-opened
	b.ReportAllocs()
	b.ResetTimer()
	for s.bytes.Load() < total {
		time.Sleep(100 * time.Microsecond)
	}
	b.StopTimer()
}

// BenchmarkPublish is the cost of Publish with subscribers that read everything.
func BenchmarkPublish(b *testing.B) {
	for _, subs := range []int{0, 1, 4} {
		b.Run(fmt.Sprintf("subs=%d", subs), func(b *testing.B) {
			m, err := master.New(b.Context(), master.Options{Listen: "127.0.0.1:0"})
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			pub, err := tcpros.NewNode(b.Context(), nodeOptions("pub", m.URI()))
			if err != nil {
				b.Fatal(err)
			}
			defer pub.Close(b.Context())
			p, err := pub.Advertise(tcpros.AdvertiseOptions{Topic: "/t", Type: stringType, MD5Sum: stringMD5, QueueFrames: 1000})
			if err != nil {
				b.Fatal(err)
			}
			for i := range subs {
				n, err := tcpros.NewNode(b.Context(), nodeOptions(fmt.Sprint("sub", i), m.URI()))
				if err != nil {
					b.Fatal(err)
				}
				defer n.Close(b.Context())
				s := &tally{scrap: make([]byte, 1<<20)}
				if _, err := n.Subscribe(tcpros.SubscribeOptions{Topic: "/t", Open: func(tcpros.LinkInfo) (tcpros.LinkSink, error) { return s, nil }}); err != nil {
					b.Fatal(err)
				}
			}
			for p.Subscribers() < subs {
				time.Sleep(time.Millisecond)
			}
			src, f := p.Source(false), frame("some text of a usual length")
			b.ReportAllocs()
			for b.Loop() {
				src.Publish(f)
			}
		})
	}
}
