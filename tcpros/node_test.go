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
	pub, sub := newNode(t, nodeOptions("pub", m.URI()).With(calm)), newNode(t, nodeOptions("sub", m.URI()))
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

// A node that is on loopback by default logs once how to open it to other machines.
func TestHiddenNodeSaysSo(t *testing.T) {
	tests := map[string]struct {
		env  string // value of ROS_IP
		args []string
		bind string
		want int
	}{
		"by default":  {"", nil, "", 1},
		"ROS_IP":      {"127.0.0.1", nil, "", 0},
		"__ip":        {"", []string{"__ip:=127.0.0.1"}, "", 0},
		"__hostname":  {"", []string{"__hostname:=localhost"}, "", 0},
		"bind option": {"", nil, "127.0.0.1", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := nodeOptions("n", newMaster(t).URI())
			log, logs := observedLog()
			o.Log, o.Bind = log, tt.bind
			o.Getenv = func(key string) string {
				if key == "ROS_IP" {
					return tt.env
				}
				return ""
			}
			var err error
			if _, o.Args, err = tcpros.ParseArgs(tt.args); err != nil {
				t.Fatal(err)
			}
			n := newNode(t, o)
			said := func() int { return logs.FilterMessageSnippet("set ROS_IP or ROS_HOSTNAME").Len() }
			if said() != 0 {
				t.Error("said before it matters")
			}
			subscribe(t, n, "/t", &inbox{})
			advertise(t, n, "/u", 0)
			if said() != tt.want {
				t.Errorf("said %d times, want %d", said(), tt.want)
			}
		})
	}
}
