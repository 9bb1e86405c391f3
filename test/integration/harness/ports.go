package harness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Packages are tested side by side, each in a process of its own, so each process takes its
// ports from blocks that are its own while it lives: it listens on the first port of each.
// The ports of connections begin at 32768: one of those could be taken again before a slow
// master listens.
const (
	firstBlock = 12_000
	blocks     = 200
	blockSize  = 100
)

var ports struct {
	sync.Mutex
	claims    []net.Listener // kept open until the process ends
	next, end int            // what is left of the last block
}

// FreePort returns a port that nobody listens on, and that no other test is given.
func FreePort(t *testing.T) string {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	for {
		if ports.next == ports.end {
			if err := claimPorts(); err != nil {
				t.Fatal(err)
			}
		}
		port := strconv.Itoa(ports.next)
		ports.next++
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port
		}
	}
}

// claimPorts takes a block that no process has. The caller holds the lock of ports.
func claimPorts() error {
	from := rand.IntN(blocks)
	for i := range blocks {
		first := firstBlock + (from+i)%blocks*blockSize
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first))
		if err != nil {
			continue
		}
		ports.claims = append(ports.claims, l)
		ports.next, ports.end = first+1, first+blockSize
		return nil
	}
	return errors.New("no free block of ports")
}
