package tcpros

import (
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// Bytes that half headers and half requests of all peers may occupy, and bytes of the longest
// header.
const (
	heldMost   = 8 << 20
	headerMost = 1 << 20
)

// halfHeader announces 1 MiB and lacks the last byte.
func halfHeader() []byte {
	return append(binary.LittleEndian.AppendUint32(nil, headerMost), make([]byte, headerMost-1)...)
}

// While 200 connections have sent half headers, in either direction, a sound subscriber and a sound
// publisher are linked within a second.
func TestHalfHeadersKeepNobodyOut(t *testing.T) {
	half := halfHeader()
	hello := wire.AppendHeader(nil, wire.Header{
		{Key: "callerid", Value: "/s"}, {Key: "md5sum", Value: wire.AnyMD5}, {Key: "topic", Value: "/t"}, {Key: "type", Value: names.AnyType},
	})
	synctest.Test(t, func(t *testing.T) {
		n, _ := pipeNode()
		var wg sync.WaitGroup
		defer wg.Wait()
		var mu sync.Mutex
		most := int64(0)
		accept := func(c net.Conn) {
			(&tcprosServer{node: n}).handle(c, n.pending.Accept(c))
			_ = c.Close()
		}
		connect := func(c net.Conn) error {
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(wire.HandshakeTimeout)); err != nil {
				return err
			}
			if _, err := c.Write(hello); err != nil {
				return err
			}
			read := n.pending.Begin(c, "publisher") // as a link does
			defer read.End()
			_, err := read.Header()
			return err
		}
		attack := func(i int) {
			here, there := net.Pipe()
			wg.Go(func() {
				if i%2 == 0 {
					accept(here)
				} else {
					_ = connect(here)
				}
			})
			wg.Go(func() {
				if i%2 == 1 {
					_, _ = wire.ReadHeader(there)
				}
				for b := half; len(b) > 0; {
					k, err := there.Write(b[:min(len(b), 64<<10)])
					if err != nil {
						break
					}
					b = b[k:]
					held := n.pending.Held()
					mu.Lock()
					most = max(most, held)
					mu.Unlock()
				}
				_, _ = there.Read(make([]byte, 1)) // until it is closed
			})
		}
		for i := range 200 {
			attack(i)
		}
		for _, wait := range []time.Duration{0, 250 * time.Millisecond, 3 * time.Second} {
			time.Sleep(wait)
			start := time.Now()
			here, there := net.Pipe()
			wg.Go(func() { accept(here) })
			if _, err := there.Write(hello); err != nil {
				t.Error(err)
			}
			if h, err := wire.ReadHeader(there); err != nil || h.Value("callerid") != "/n" {
				t.Errorf("subscriber: %v, %v", h, err)
			}
			_ = there.Close()
			here, there = net.Pipe()
			linked := make(chan error, 1)
			wg.Go(func() { linked <- connect(here) })
			if _, err := wire.ReadHeader(there); err != nil {
				t.Error(err)
			}
			_, _ = there.Write(hello)
			if err := <-linked; err != nil {
				t.Errorf("publisher: %v", err)
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("took %v", took)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if most > heldMost || most < heldMost/2 {
			t.Errorf("%d bytes were held, the bound is %d", most, heldMost)
		}
	})
}
