//go:build linux

package probe_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
	"github.com/gorosbag/gorosbag/test/probe"
)

// frameOf is message seq as it goes over the wire.
func frameOf(seq, size int, due time.Duration) []byte {
	f := make([]byte, 4+size)
	binary.LittleEndian.PutUint32(f, uint32(size))
	probe.Payload(f[4:], seq, due)
	return f
}

// pipe returns a link and the other end of it.
func pipe(t *testing.T) (*probe.Link, net.Conn) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	link, err := probe.NewLink(in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { probe.Close([]*probe.Link{link}) })
	return link, out
}

// However frames are cut on their way, each is counted once.
func TestCount(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]int{"bytes": 1, "odd pieces": 37, "all at once": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link, out := pipe(t)
			var stream []byte
			bytes := int64(0)
			for n, size := range []int{16, 17, 100, 3000, 16, 400_000, 16} {
				if name == "bytes" {
					size = min(size, 500)
				}
				stream = append(stream, frameOf(2*n, size, 0)...)
				bytes += int64(size)
			}
			go func() {
				for b := stream; len(b) > 0; b = b[min(piece, len(b)):] {
					_, _ = out.Write(b[:min(piece, len(b))])
				}
				_ = out.Close()
			}()
			c, err := link.Count()
			if err != nil || c.Messages != 7 || c.Bytes != bytes {
				t.Errorf("%d messages of %d bytes, %v; want 7 of %d", c.Messages, c.Bytes, err, bytes)
			}
		})
	}
}

func TestCountFinds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stream   []byte
		cut      bool
		messages int
	}{
		"disorder":                   {append(frameOf(1, 20, 0), frameOf(1, 20, 0)...), false, 1},
		"an end within a message":    {frameOf(0, 100, 0)[:90], true, 0},
		"an end within a first word": {frameOf(0, 100, 0)[:3], true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link, out := pipe(t)
			_, _ = out.Write(tt.stream)
			_ = out.Close()
			if c, err := link.Count(); c.Cut != tt.cut || (err == nil) != tt.cut || c.Messages != tt.messages {
				t.Errorf("got %+v, %v", c, err)
			}
		})
	}
}

// Arrivals have the kernel's time, which is not that of reading.
func TestStamp(t *testing.T) {
	t.Parallel()
	a, aOut := pipe(t)
	b, bOut := pipe(t)
	for n := range 3 {
		_, _ = aOut.Write(frameOf(n, 50, time.Duration(n)))
		_, _ = bOut.Write(frameOf(n, 50, time.Duration(n))[:20])
		_, _ = bOut.Write(frameOf(n, 50, time.Duration(n))[20:])
	}
	_ = aOut.Close()
	_ = bOut.Close()
	type result struct {
		all []probe.Arrival
		err error
	}
	done := make(chan result)
	go func() {
		all, err := probe.Stamp([]*probe.Link{a, b}, 50, 100)
		done <- result{all, err}
	}()
	r := <-done
	if r.err != nil || len(r.all) != 6 {
		t.Fatalf("%d arrivals, %v", len(r.all), r.err)
	}
	got := probe.TimingOf(r.all, 1, 0)
	if got.Messages != 6 || got.Disordered != 0 || got.Missed != 0 || got.Max > time.Minute {
		t.Errorf("%+v", got)
	}
}

func TestTimingOf(t *testing.T) {
	t.Parallel()
	var all []probe.Arrival
	for n := range 1000 {
		due := time.Duration(n) * time.Millisecond
		at := time.Hour + due/2 + due/1000 // rate 2, and 2 ms late for each second
		if n == 900 {
			at += 50 * time.Millisecond
		}
		all = append(all, probe.Arrival{Seq: n, Due: due, At: at})
	}
	all = append(all[:500], append([]probe.Arrival{{Link: 1, Seq: 2}, {Link: 1, Seq: 1}}, all[500:]...)...)
	got := probe.TimingOf(all, 2, 250*time.Millisecond)
	if got.Messages != 500 || got.Missed != 2 || got.Disordered != 1 {
		t.Errorf("%+v", got)
	}
	if got.P50 != 250*time.Microsecond || got.P99 != 496*time.Microsecond || got.Max != 50*time.Millisecond+400*time.Microsecond {
		t.Errorf("%+v", got)
	}
	all[902].At -= 50 * time.Millisecond // the late one no more
	if d := probe.TimingOf(all, 2, 250*time.Millisecond).DriftPerMinute; d.Round(time.Microsecond) != 120*time.Millisecond {
		t.Errorf("drift %v", d)
	}
}

// A link is made to a publisher as soon as the master knows it.
func TestConnect(t *testing.T) {
	t.Parallel()
	m, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	n, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "pub", MasterURI: m.URI(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close(context.Background()) })
	p, err := n.Advertise(tcpros.AdvertiseOptions{Topic: "/t", Type: "std_msgs/String", MD5Sum: "992ce8a1687cec8c8bd883ec73ca41d1"})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Source(true)
	s.Publish(frameOf(0, 30, 0))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	links, err := probe.Connect(ctx, m.Addr().String(), "/probe", "/t")
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close(links)
	go func() { _ = n.Drain(ctx) }()
	if c, err := links[0].Count(); err != nil || c.Messages != 1 || c.Bytes != 30 {
		t.Errorf("%+v, %v", c, err)
	}
	cancel()
	if _, err := probe.Connect(ctx, m.Addr().String(), "/probe", "/none"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
