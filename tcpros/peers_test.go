package tcpros_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/aler9/goroslib"
	"github.com/aler9/goroslib/pkg/msgs/std_msgs"
	"github.com/aler9/goroslib/pkg/msgs/std_srvs"
	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/tcpros"
)

// peer starts a node of goroslib, an independent implementation.
func peer(t *testing.T, name, masterAddress string) *goroslib.Node {
	t.Helper()
	n, err := goroslib.NewNode(goroslib.NodeConf{Name: name, MasterAddress: masterAddress, Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// text is the frame of a std_msgs/String.
func text(s string) []byte {
	return frame(string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s)
}

func TestGoroslibSubscriber(t *testing.T) {
	m := newMaster(t)
	n := newNode(t, nodeOptions("pub", m.URI()))
	p := advertise(t, n, "/t", 0)
	p.Source(true).Publish(text("latched"))
	var mu sync.Mutex
	var got []string
	sub, err := goroslib.NewSubscriber(goroslib.SubscriberConf{
		Node: peer(t, "typed", m.Addr().String()), Topic: "/t",
		Callback: func(msg *std_msgs.String) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, msg.Data)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	waitFor(t, "the link", func() bool { return p.Subscribers() == 1 })
	big := strings.Repeat("x", 1_000_000)
	src := p.Source(false)
	src.Publish(text("one"))
	src.Publish(text(big))
	src.Publish(text(""))
	waitFor(t, "the messages", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(got) == 4
	})
	if diff := cmp.Diff([]string{"latched", "one", big, ""}, got); diff != "" {
		t.Error(diff)
	}
}

func TestGoroslibPublisher(t *testing.T) {
	m := newMaster(t)
	b := &inbox{}
	s := subscribe(t, newNode(t, nodeOptions("sub", m.URI())), "/t", b)
	pub, err := goroslib.NewPublisher(goroslib.PublisherConf{
		Node: peer(t, "typed", m.Addr().String()), Topic: "/t", Msg: &std_msgs.String{}, Latch: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer pub.Close()
	pub.Write(&std_msgs.String{Data: "latched"})
	waitFor(t, "the latched message", func() bool { return b.count() == 1 && s.Publishers() == 1 })
	big := strings.Repeat("x", 1_000_000)
	pub.Write(&std_msgs.String{Data: "one"})
	pub.Write(&std_msgs.String{Data: big})
	waitFor(t, "the messages", func() bool { return b.count() == 3 })
	var want []string
	for _, s := range []string{"latched", "one", big} {
		want = append(want, string(text(s)[4:]))
	}
	if diff := cmp.Diff(want, b.messages()); diff != "" {
		t.Error(diff)
	}
	h := b.links()[0].Header
	for key, want := range map[string]string{"callerid": "/typed", "md5sum": stringMD5, "type": stringType, "latching": "1"} {
		if v, _ := h.Get(key); v != want {
			t.Errorf("%s=%q, want %q", key, v, want)
		}
	}
}

// goroslib compares the md5sum of an offer of UDPROS letter by letter, wildcards too.
func TestGoroslibPublisherUDP(t *testing.T) {
	t.Parallel()
	for transport, md5 := range map[string]string{"UDPROS": stringMD5, "TCPROS": "*"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			m := newMaster(t)
			b := &lossyBox{}
			s, err := newNode(t, nodeOptions("sub", m.URI())).Subscribe(tcpros.SubscribeOptions{Topic: "/t", MD5Sum: md5, UDP: true, Open: b.open})
			if err != nil {
				t.Fatal(err)
			}
			pub, err := goroslib.NewPublisher(goroslib.PublisherConf{
				Node: peer(t, "typed", m.Addr().String()), Topic: "/t", Msg: &std_msgs.String{},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer pub.Close()
			waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
			if got := b.links()[0].Transport; got != transport {
				t.Errorf("received over %s", got)
			}
			for i := range 600 {
				long := strings.Repeat("x", i*7)
				pub.Write(&std_msgs.String{Data: long})
				waitFor(t, "a message", func() bool { return b.count() == i+1 })
			}
			if b.missing() != 0 {
				t.Errorf("%d lost", b.missing())
			}
		})
	}
}

// TestGoroslibServiceClient: goroslib calls a service of ours, and gets an error of the handler.
func TestGoroslibServiceClient(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	n := newNode(t, nodeOptions("server", m.URI()).With(calm))
	_, err := n.AdvertiseService(tcpros.ServiceOptions{Name: "/set", Type: tcpros.SetBoolService, Handle: func(_ context.Context, request []byte) ([]byte, error) {
		on, err := stdmsg.DecodeBool(request)
		if err != nil {
			return nil, err
		}
		if !on {
			return nil, errors.New("not today")
		}
		return stdmsg.Outcome{Success: on, Message: "it is on"}.Encode(), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the registration", func() bool {
		_, err := n.Master().LookupService(t.Context(), "/set")
		return err == nil
	})
	c, err := goroslib.NewServiceClient(goroslib.ServiceClientConf{Node: peer(t, "typed", m.Addr().String()), Name: "/set", Srv: &std_srvs.SetBool{}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var res std_srvs.SetBoolRes
	if err := c.Call(&std_srvs.SetBoolReq{Data: true}, &res); err != nil || !res.Success || res.Message != "it is on" {
		t.Errorf("answered %+v, %v", res, err)
	}
	if err := c.Call(&std_srvs.SetBoolReq{}, &res); err == nil {
		t.Errorf("a refusal is taken for %+v", res)
	}
}

// TestGoroslibServiceProvider: a node of ours calls a service of goroslib, also with another md5sum.
func TestGoroslibServiceProvider(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	n := newNode(t, nodeOptions("caller", m.URI()))
	p, err := goroslib.NewServiceProvider(goroslib.ServiceProviderConf{
		Node: peer(t, "typed", m.Addr().String()), Name: "/set", Srv: &std_srvs.SetBool{},
		Callback: func(req *std_srvs.SetBoolReq) (*std_srvs.SetBoolRes, bool) {
			return &std_srvs.SetBoolRes{Success: req.Data, Message: "heard"}, true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, on := range []bool{true, false} {
		answer, err := n.CallService(t.Context(), "/set", tcpros.SetBoolService, stdmsg.EncodeBool(on))
		if err != nil {
			t.Fatal(err)
		}
		if o, err := stdmsg.DecodeOutcome(answer); err != nil || o.Success != on || o.Message != "heard" {
			t.Errorf("answered %+v, %v", o, err)
		}
	}
	if _, err := n.CallService(t.Context(), "/set", tcpros.TriggerService, nil); err == nil {
		t.Error("a call with another md5sum is answered")
	}
}

// TestGoroslibSubscriberUDP: nodes publish over TCPROS only. A peer that accepts only UDPROS gets
// no link, and disturbs no other link.
func TestGoroslibSubscriberUDP(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	n := newNode(t, nodeOptions("pub", m.URI()))
	p := advertise(t, n, "/t", 0)
	p.Source(true).Publish(text("latched"))
	sub, err := goroslib.NewSubscriber(goroslib.SubscriberConf{
		Node: peer(t, "typed", m.Addr().String()), Topic: "/t", Protocol: goroslib.UDP,
		Callback: func(*std_msgs.String) { t.Error("a message came") },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	b := &inbox{}
	subscribe(t, newNode(t, nodeOptions("sub", m.URI())), "/t", b)
	waitFor(t, "the latched message by TCPROS", func() bool { return b.count() == 1 })
	waitFor(t, "both subscriptions", func() bool {
		state, err := n.Master().SystemState(t.Context())
		return err == nil && len(state.Subscribers["/t"]) == 2
	})
	if got := p.Subscribers(); got != 1 {
		t.Errorf("%d links, want that over TCPROS", got)
	}
}
