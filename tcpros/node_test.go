package tcpros_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros"
)

func TestPublishSubscribe(t *testing.T) {
	m := newMaster(t)
	pub, sub := newNode(t, nodeOptions("pub", m.URI())), newNode(t, nodeOptions("sub", m.URI()))
	p := advertise(t, pub, "chatter", 0)
	var b inbox
	s := subscribe(t, sub, "/chatter", &b)
	waitFor(t, "the link", func() bool { return p.Subscribers() == 1 && s.Publishers() == 1 })

	big := strings.Repeat("0123456789", 100_000)
	var want []string
	src := p.Source(false)
	for i := range 2000 {
		text := fmt.Sprint("hello ", i)
		if i%500 == 250 {
			text = big
		}
		want = append(want, text)
		src.Publish(frame(text))
	}
	waitFor(t, "the messages", func() bool { return b.count() == len(want) })
	if diff := cmp.Diff(want, b.messages()); diff != "" {
		t.Error(diff)
	}
	info := b.links()[0]
	if info.Topic != "/chatter" || info.PublisherURI != pub.URI() {
		t.Errorf("opened with %+v", info)
	}
	wantHeader := tcpros.Header{
		{Key: "callerid", Value: "/pub"},
		{Key: "latching", Value: "0"},
		{Key: "md5sum", Value: stringMD5},
		{Key: "message_definition", Value: stringDef},
		{Key: "topic", Value: "/chatter"},
		{Key: "type", Value: stringType},
	}
	if diff := cmp.Diff(wantHeader, info.Header); diff != "" {
		t.Error(diff)
	}
	if err := pub.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if err := pub.Close(context.Background()); err != nil {
		t.Error(err)
	}
	s.Close()
	if p.Dropped() != 0 {
		t.Errorf("%d dropped", p.Dropped())
	}
}
