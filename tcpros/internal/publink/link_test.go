package publink

import (
	"cmp"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
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
	links := &endpoint.Links{Most: 1600}
	p := New(Options{MD5Sum: strings.Repeat("a", 32), Links: links}, "/t", "/n")
	other := New(Options{MD5Sum: wire.AnyMD5, Links: links}, "/other", "/n")
	asks := func(p *Publication, name, md5 string) bool {
		_, r := p.Accept(wire.Header{{Key: "callerid", Value: name}, {Key: "md5sum", Value: md5}})
		return r.Text == ""
	}
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	const most = 1505 // a topic leaves some of them to others
	var first *Link
	for i := range most {
		name := "/s" + strconv.Itoa(i)
		if !asks(p, name, wire.AnyMD5) {
			t.Fatalf("number %d is refused", i)
		}
		l := newOutLink(here, name, i, 1, &p.room)
		if first = cmp.Or(first, l); !p.Add(l) {
			t.Fatalf("number %d is not added", i)
		}
	}
	for i := range 2 * maxNodes {
		if asks(p, "/another"+strconv.Itoa(i), wire.AnyMD5) {
			t.Fatal("another one is let in")
		}
	}
	asks(p, "/0", strings.Repeat("b", 32)) // is refused anyway
	if n := p.Refused(); len(n) != maxNodes || n[0] != "/another0" {
		t.Errorf("%d are left out, from %s on", len(n), n[0])
	}
	if !asks(p, "/s7", wire.AnyMD5) || !asks(other, "/another0", wire.AnyMD5) || len(other.Refused()) != 0 {
		t.Error("one that is there, or one of another topic, is refused")
	}
	if p.Remove(first); !asks(p, "/another", wire.AnyMD5) || links.Add(0) != most-1 {
		t.Errorf("none is let in when one has left: %d links", links.Add(0))
	}
}
