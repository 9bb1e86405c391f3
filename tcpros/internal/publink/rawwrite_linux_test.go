package publink

import (
	"net"
	"testing"
)

// A connection that cannot be written at once accepts no byte.
func TestQuickWritesOfNothing(t *testing.T) {
	pipe, _ := net.Pipe()
	if w := newQuickWriter(pipe); w != nil || w.write([]byte("x")) != 0 {
		t.Error("a pipe is written to at once")
	}
	here, there := tcpPair(t)
	w := newQuickWriter(here)
	if n := w.write(nil); n != 0 {
		t.Errorf("%d bytes of nothing", n)
	}
	if n := w.write([]byte("x")); n != 1 {
		t.Errorf("%d bytes of one", n)
	}
	if n, err := there.Read(make([]byte, 2)); n != 1 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	_ = here.Close()
	if n := w.write([]byte("x")); n != 0 || newQuickWriter(here) != nil && newQuickWriter(here).write([]byte("x")) != 0 {
		t.Error("a closed socket took something")
	}
}
