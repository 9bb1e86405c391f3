package publink

import (
	"net"
	"strconv"
	"testing"

	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// A frame is dropped when a connected subscriber does not get it. Frames for a subscriber that has
// left, but is still in the list, are not counted.
func TestLeavingIsNoDrop(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(*Link)
		want uint64
	}{
		"full":     {func(*Link) {}, 2},
		"closed":   {(*Link).close, 0},
		"draining": {(*Link).end, 4},
	} {
		a, b := net.Pipe()
		defer a.Close()
		defer b.Close()
		l := newOutLink(a, "/s", 1, 2, &room{})
		tt.end(l)
		for range 4 {
			l.push([]byte("frame"), false)
		}
		if got := l.snapshot().Dropped; got != tt.want {
			t.Errorf("%s: %d dropped, want %d", name, got, tt.want)
		}
	}
}

// Made-up names fill a topic up to its limit only; a connected subscriber may reconnect.
func TestCrowdedTopic(t *testing.T) {
	t.Parallel()
	p := New(Options{MD5Sum: wire.AnyMD5}, "/t", "/n")
	asks := func(name string) bool {
		_, r := p.Accept(wire.Header{{Key: "callerid", Value: name}, {Key: "md5sum", Value: wire.AnyMD5}})
		return r.Text == ""
	}
	for i := range maxSubscribers {
		name := "/s" + strconv.Itoa(i)
		if !asks(name) {
			t.Fatalf("number %d is refused", i)
		}
		p.links = append(p.links, &Link{callerID: name})
	}
	if asks("/another") || !asks("/s7") {
		t.Error("another one is let in, or one that is there is refused")
	}
}
