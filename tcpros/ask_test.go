package tcpros_test

import (
	"context"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
)

// TestAskSubscribers learns what subscribers want from their headers, and leaves no topic behind.
func TestAskSubscribers(t *testing.T) {
	m := newMaster(t)
	listener := newNode(t, nodeOptions("listener", m.URI()))
	var box inbox
	if _, err := listener.Subscribe(tcpros.SubscribeOptions{Topic: "/state", Type: "my/State", MD5Sum: "abcd", Open: box.open}); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, nodeOptions("asker", m.URI()))
	waitFor(t, "the subscription", func() bool {
		state, err := n.Master().SystemState(t.Context())
		return err == nil && len(state.Subscribers["/state"]) == 1
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got, err := n.AskSubscribers(ctx, map[string][]string{"/state": {"/listener"}})
	if err != nil || ctx.Err() != nil || len(got["/state"]) != 1 {
		t.Fatalf("%v, %v, %v", got, err, ctx.Err())
	}
	if h := got["/state"][0]; h.Value("type") != "my/State" || h.Value("md5sum") != "abcd" || h.Value("callerid") != "/listener" {
		t.Errorf("%v", h)
	}
	if ends := box.messages(); len(ends) > 0 {
		t.Errorf("the subscriber got %q", ends)
	}
	waitFor(t, "the end of the topic", func() bool {
		state, err := n.Master().SystemState(t.Context())
		return err == nil && len(state.Publishers["/state"]) == 0
	})

	// One that takes anything is told nothing that it could keep, as roscpp does: another publisher would be refused.
	links := make(chan tcpros.Header, 1)
	if _, err := listener.Subscribe(tcpros.SubscribeOptions{Topic: "/any", Type: "*", MD5Sum: tcpros.AnyMD5, Open: func(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
		select {
		case links <- i.Header:
		default: // there is one
		}
		return box.open(i)
	}}); err != nil {
		t.Fatal(err)
	}
	var h tcpros.Header
	waitFor(t, "the header that it was told", func() bool { // it may leave before it has read that
		got, err := n.AskSubscribers(ctx, map[string][]string{"/any": {"/listener"}})
		if err != nil || ctx.Err() != nil || len(got["/any"]) != 1 {
			t.Fatalf("%v, %v, %v", got, err, ctx.Err())
		}
		select {
		case h = <-links:
			return true
		default:
			return false
		}
	})
	if h.Value("md5sum") != tcpros.AnyMD5 || h.Value("type") != "*" || h.Value("latching") != "0" {
		t.Errorf("it was told %v", h)
	}

	// A topic that the node advertises stays as it is.
	p, err := n.Advertise(tcpros.AdvertiseOptions{Topic: "/state", Type: "my/State", MD5Sum: "abcd"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := n.AskSubscribers(ctx, map[string][]string{"/state": {"/listener"}}); err != nil || len(got) > 0 || n.Publication("/state") != p {
		t.Errorf("%v, %v", got, err)
	}

	// One that never connects is not waited for beyond the context.
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := n.AskSubscribers(short, map[string][]string{"/nobody": {"/gone"}}); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
}
