package foxglove

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/view/live"
)

// BenchmarkViewer sends messages to one viewer, which reads its socket and looks at nothing. plain is
// the same bytes written to a socket.
func BenchmarkViewer(b *testing.B) {
	for _, size := range []int{100, 10 << 10, 1 << 20} {
		payload := make([]byte, size)
		b.Run(fmt.Sprintf("msg=%d/to=viewer", size), func(b *testing.B) {
			source := newSource(nil, live.Limits{})
			f := open(source.Store, "/a")
			s, url := serve(b, source)
			v := connectRaw(b, url)
			if err := v.conn.SetDeadline(time.Time{}); err != nil {
				b.Fatal(err)
			}
			request := []byte(`{"op":"subscribe","subscriptions":[{"id":1,"channelId":1}]}`)
			v.write(frame(0x81, uint64(len(request)), request))
			wait(b, f.Wanted)
			discard(b, v.conn)
			viewer := s.all()[0].viewer
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				f.Put(at(1), payload, 0)
				for n%16 == 0 && viewer.Stats().QueuedBytes > 16<<20 {
					<-time.After(100 * time.Microsecond)
				}
			}
			for viewer.Stats().QueuedBytes > 0 {
				runtime.Gosched()
			}
			if skipped := viewer.Stats().Skipped; skipped > 0 {
				b.Errorf("%d messages are skipped", skipped)
			}
		})
		b.Run(fmt.Sprintf("msg=%d/to=socket", size), func(b *testing.B) {
			var lc net.ListenConfig
			ln, err := lc.Listen(b.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer ln.Close()
			out, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", ln.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			in, err := ln.Accept()
			if err != nil {
				b.Fatal(err)
			}
			discard(b, in)
			defer out.Close()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := out.Write(payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// discard reads a connection until the benchmark ends.
func discard(b *testing.B, conn net.Conn) {
	b.Helper()
	var reading sync.WaitGroup
	reading.Go(func() { io.Copy(io.Discard, conn) })
	b.Cleanup(func() {
		conn.Close()
		reading.Wait()
	})
}
