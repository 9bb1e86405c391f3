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

	"github.com/gorosbag/gorosbag/tcpros"
)

// numbered returns the numbers of the frames that arrive until the link ends.
func numbered(c net.Conn, pause time.Duration) (list []uint32, err error) {
	var head [8]byte
	for {
		if _, err := io.ReadFull(c, head[:]); err != nil {
			if err == io.EOF {
				err = nil
			}
			return list, err
		}
		list = append(list, binary.LittleEndian.Uint32(head[4:]))
		if _, err := io.CopyN(io.Discard, c, int64(binary.LittleEndian.Uint32(head[:]))-4); err != nil {
			return list, err
		}
		time.Sleep(pause) // the reader is slow, so that sockets and queues are full
	}
}

// Subscribers that join while frames are written straight to the sockets get the latched frame and
// then each later frame, in order, or the frame is counted as dropped. This includes frames in
// flight at the end. A subscriber that leaves, or does not read, delays no other: otherwise
// publishing would not end.
func TestPublishNowJoinAndDrain(t *testing.T) {
	t.Parallel()
	n := newNode(t, nodeOptions("pub", newMaster(t).URI()).With(calm))
	p, err := n.Advertise(tcpros.AdvertiseOptions{Topic: "/t", Type: stringType, MD5Sum: stringMD5, QueueFrames: 3, Latching: true})
	if err != nil {
		t.Fatal(err)
	}
	address := tcprosAddress(t, n, "/t")
	src := p.Source(true)
	const frames, size = 4000, 20_000
	published := make(chan struct{})
	next := make(chan struct{}, 1) // a subscriber may join
	go func() {
		defer close(published)
		for i := range uint32(frames) {
			f := frame(strings.Repeat("x", size))
			binary.LittleEndian.PutUint32(f[4:], i)
			src.PublishNow(f)
			if i%400 == 399 {
				next <- struct{}{}
			}
		}
	}()
	var wg sync.WaitGroup
	missing := make([]int, 6)
	for k := range missing {
		<-next
		c, _ := dial(t, address, subscriberHeader(fmt.Sprint("/s", k), "/t"))
		wg.Go(func() {
			list, err := numbered(c, time.Duration(k)*20*time.Microsecond)
			if err != nil || len(list) == 0 || list[len(list)-1] != frames-1 {
				t.Errorf("subscriber %d: %d frames, %v", k, len(list), err)
				return
			}
			for i := 1; i < len(list); i++ {
				if list[i] <= list[i-1] {
					t.Errorf("subscriber %d: frame %d comes after %d", k, list[i], list[i-1])
				}
			}
			missing[k] = int(frames-list[0]) - len(list)
			_ = c.Close()
		})
	}
	leaver, _ := dial(t, address, subscriberHeader("/leaver", "/t"))
	_ = leaver.Close()
	deaf, _ := dial(t, address, subscriberHeader("/deaf", "/t"))
	for open := true; open; {
		select {
		case <-next:
		case <-published:
			open = false
		}
	}
	_ = deaf.Close()
	waitFor(t, "those that leave", func() bool { return p.Subscribers() == len(missing) })
	left := p.Dropped() // includes the frames that departed subscribers did not get
	if err := n.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	wg.Wait()
	sum := 0
	for _, m := range missing {
		sum += m
	}
	if got := p.Dropped(); got != left || uint64(sum) > got || got-uint64(sum) > frames {
		t.Errorf("%d dropped, then %d; %d are missing: %v", left, got, sum, missing)
	}
}
