package wire

import (
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A caller that makes progress keeps its connection for a request of any duration.
func TestPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		var wg sync.WaitGroup
		defer wg.Wait()
		defer here.Close()
		const n = 5 * StallBytes
		wg.Go(func() {
			for range n / 1500 {
				if _, err := there.Write(make([]byte, 1500)); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
			_, _ = there.Write([]byte{1}) // too little from here on
		})
		start := time.Now()
		if _, err := ReadBlock(&StallReader{Conn: here}, n, func(int64) error { return nil }); err != nil {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if _, err := ReadBlock(&StallReader{Conn: here}, 2, func(int64) error { return nil }); !errors.Is(err, ErrStalled) {
			t.Errorf("got %v", err)
		}
	})
}

// A caller that sends a byte now and then does not keep its connection.
func TestTrickle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		var wg sync.WaitGroup
		defer wg.Wait()
		defer here.Close()
		wg.Go(func() {
			for {
				if _, err := there.Write([]byte{1}); err != nil {
					return
				}
				time.Sleep(7 * time.Second)
			}
		})
		start := time.Now()
		if _, err := ReadBlock(&StallReader{Conn: here}, 1000, func(int64) error { return nil }); !errors.Is(err, ErrStalled) {
			t.Errorf("got %v, want %v", err, ErrStalled)
		}
		if took := time.Since(start); took != StallAfter {
			t.Errorf("the connection ended after %v, want %v", took, StallAfter)
		}
	})
}
