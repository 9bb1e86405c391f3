package tcpros_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros"
)

// blocking starts a node with a publication that drops nothing. The channel has a token after each
// call of Freed.
func blocking(t *testing.T) (*tcpros.Publication, string, chan struct{}) {
	t.Helper()
	n := newNode(t, nodeOptions("pub", newMaster(t).URI()))
	freed := make(chan struct{}, 1)
	p, err := n.Advertise(tcpros.AdvertiseOptions{
		Topic: "/t", Type: stringType, MD5Sum: stringMD5, QueueFrames: 1, Overflow: tcpros.OverflowBlock,
		Freed: func() {
			select {
			case freed <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, tcprosAddress(t, n, "/t"), freed
}

// full returns the subscribers whose queues are full.
func full(stats []tcpros.SubscriberStats) (callers []string) {
	for _, s := range stats {
		if s.Full {
			callers = append(callers, s.CallerID)
		}
	}
	return callers
}

// fill publishes until a queue stays full for a while, no counter changes, and the fast subscriber
// has read everything. It returns the state at that moment: later a counter may still change, if
// the writer of a link was delayed for long.
func fill(t *testing.T, p *tcpros.Publication, src *tcpros.Source, f []byte, freed <-chan struct{}) []tcpros.SubscriberStats {
	t.Helper()
	var last []tcpros.SubscriberStats
	for range 1000 {
		if p.Room() {
			src.Publish(f)
			continue
		}
		select {
		case <-freed:
		case <-time.After(50 * time.Millisecond):
			now := p.Stats()
			if queued(now, "/fast") == 0 && cmp.Equal(now, last) {
				return now
			}
			last = now
		}
	}
	t.Fatalf("still room after 1000 frames of %d bytes", len(f))
	return nil
}

// Every subscriber gets every frame, as fast as the slowest one reads, and memory
// is bounded by bytes.
func TestOverflowBlockLosesNothing(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 1 << 20, 5 << 20} {
		t.Run(fmt.Sprint("msg=", size), func(t *testing.T) {
			p, address, freed := blocking(t)
			n := max(30, min(50_000, 30<<20/size))
			var wg sync.WaitGroup
			defer wg.Wait()
			for i := range 2 {
				c, _ := dial(t, address, subscriberHeader(fmt.Sprint("/s", i), "/t"))
				wg.Go(func() { readNumbered(t, c, n) })
			}
			waitFor(t, "both links", func() bool { return p.Subscribers() == 2 })
			src := p.Source(false)
			for i := range n {
				for !p.Room() {
					<-freed
				}
				f := frame(strings.Repeat("x", size))
				binary.LittleEndian.PutUint32(f[4:], uint32(i))
				src.Publish(f)
			}
			wg.Wait()
			if p.Dropped() != 0 {
				t.Errorf("%d dropped", p.Dropped())
			}
		})
	}
}

// readNumbered reads n frames that begin with their number. After an error it closes the link, so
// that nobody waits for the reader.
func readNumbered(t *testing.T, c net.Conn, n int) {
	var head [8]byte
	for i := range n {
		_ = c.SetDeadline(time.Now().Add(patience)) // deadline of each frame: on a busy machine all frames together need longer
		if _, err := io.ReadFull(c, head[:]); err != nil {
			t.Errorf("frame %d: %v", i, err)
			_ = c.Close()
			return
		}
		if k := binary.LittleEndian.Uint32(head[4:]); k != uint32(i) {
			t.Errorf("frame %d has the number %d", i, k)
			_ = c.Close()
			return
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.LittleEndian.Uint32(head[:]))-4); err != nil {
			t.Errorf("frame %d: %v", i, err)
			_ = c.Close()
			return
		}
	}
}

// Big frames fill a queue by their bytes, so that a subscriber that does not read occupies little
// memory. When the subscriber reads, leaves or is replaced, there is room again.
func TestOverflowBlockRoom(t *testing.T) {
	big := frame(strings.Repeat("x", 1<<20))
	for name, free := range map[string]func(c net.Conn, address string){
		"reads":  func(c net.Conn, _ string) { _, _ = io.Copy(io.Discard, c) },
		"leaves": func(c net.Conn, _ string) { _ = c.Close() },
		"again":  func(_ net.Conn, address string) { _, _ = dial(t, address, subscriberHeader("/slow", "/t")) },
	} {
		t.Run(name, func(t *testing.T) {
			p, address, freed := blocking(t)
			src := p.Source(false)
			for range 100 {
				src.Publish(big)
			}
			if !p.Room() {
				t.Fatal("no room without a subscriber")
			}
			c, _ := dial(t, address, subscriberHeader("/slow", "/t"))
			fast, _ := dial(t, address, subscriberHeader("/fast", "/t"))
			waitFor(t, "the links", func() bool { return p.Subscribers() == 2 })
			var wg sync.WaitGroup
			defer wg.Wait()
			defer p.Close()
			wg.Go(func() { _, _ = io.Copy(io.Discard, fast) })
			stats := fill(t, p, src, big, freed)
			if n := queued(stats, "/slow"); n < 2 || n > 3 {
				t.Errorf("%d MiB are queued", n)
			}
			if diff := cmp.Diff([]string{"/slow"}, full(stats)); diff != "" {
				t.Error(diff)
			}
			done := make(chan struct{})
			wg.Go(func() {
				defer close(done)
				free(c, address)
			})
			<-freed
			waitFor(t, "room", p.Room)
			if name != "reads" { // which ends with the publication
				<-done
			}
			src.Publish(big)
			if p.Dropped() != 0 {
				t.Errorf("%d dropped", p.Dropped())
			}
		})
	}
}

// Each frame arrives whole, once and in order, whether the pacer or the link writes it, and for any
// number of bytes that sockets accept at a time.
func TestPublishNow(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"short": 30, "long": 30_000, "longer": 40_000} {
		t.Run(name, func(t *testing.T) {
			p, address, freed := blocking(t)
			c, _ := dial(t, address, subscriberHeader("/s", "/t"))
			waitFor(t, "the link", func() bool { return p.Subscribers() == 1 })
			n := 60_000_000 / size / (1 + 1000/size)
			src := p.Source(false)
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() {
				for i := range n {
					for !p.Room() {
						<-freed
					}
					f := frame(strings.Repeat("x", size))
					binary.LittleEndian.PutUint32(f[4:], uint32(i))
					if i%7 == 0 {
						src.Publish(f)
					} else {
						src.PublishNow(f)
					}
				}
			})
			readNumbered(t, c, n)
			wg.Wait()
			waitFor(t, "the account", func() bool { return p.Stats()[0].Frames == uint64(n) })
			if s := p.Stats()[0]; s.Bytes != uint64(n*(size+4)) || p.Dropped() != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A later subscriber does not get an unlatched frame.
func TestUnlatch(t *testing.T) {
	_, p, address := publisher(t, 0)
	a, b := p.Source(true), p.Source(true)
	a.Publish(frame("a"))
	b.Publish(frame("b"))
	a.Unlatch()
	p.Source(false).Unlatch() // the source has no latched frame
	c, _ := dial(t, address, subscriberHeader("/s", "/t"))
	waitFor(t, "the link", func() bool { return p.Subscribers() == 1 })
	a.Publish(frame("a again"))
	if diff := cmp.Diff([]string{"b", "a again"}, readFrames(t, c, 2)); diff != "" {
		t.Error(diff)
	}
	late, _ := dial(t, address, subscriberHeader("/late", "/t"))
	if diff := cmp.Diff([]string{"b", "a again"}, readFrames(t, late, 2)); diff != "" {
		t.Error(diff)
	}
}
