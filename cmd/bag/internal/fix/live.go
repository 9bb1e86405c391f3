package fix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/definitions"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// liveTimeout bounds how long nodes are asked for what they use.
const liveTimeout = 5 * time.Second

// live returns the definition of a topic that nodes use now: that of its publishers or, if it has none,
// what its subscribers want. Nothing is published.
func live(ctx context.Context, topic string) (definitions.Set, error) {
	if topic == "" || topic == "/" {
		return nil, errors.New("write ros:///TOPIC: the topic that nodes publish or subscribe to now")
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	node, err := tcpros.NewNode(ctx, tcpros.NodeOptions{BaseName: "gobag", Anonymous: true})
	if err != nil {
		return nil, err
	}
	defer node.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it has published nothing
	name, err := node.Resolve(topic)
	if err != nil {
		return nil, err
	}
	state, err := node.Master().SystemState(ctx)
	if err != nil {
		return nil, fmt.Errorf("no answer from the master, which ROS_MASTER_URI names: %w",
			wording.Explain(err))
	}
	var headers []tcpros.Header
	switch publishers, subscribers := state.Publishers[name], state.Subscribers[name]; {
	case len(publishers) > 0:
		headers, err = ofPublisher(ctx, node, name)
	case len(subscribers) > 0:
		var all map[string][]tcpros.Header
		all, err = node.AskSubscribers(ctx, map[string][]string{name: subscribers})
		headers = all[name]
	default:
		return nil, fmt.Errorf("no node publishes %s or subscribes to it now", name)
	}
	if err != nil {
		return nil, err
	}
	if len(headers) == 0 {
		return nil, fmt.Errorf("the nodes of %s do not answer", name)
	}
	headers = slices.DeleteFunc(headers,
		func(h tcpros.Header) bool { return h.Value("md5sum") == tcpros.AnyMD5 })
	if len(headers) == 0 {
		return nil, fmt.Errorf("the nodes of %s take any type; name a folder with the .msg files that are wanted", name)
	}
	var conns []*rosbag.Connection
	for _, h := range headers {
		c := &rosbag.Connection{Topic: name}
		for _, f := range h {
			c.Header = append(c.Header, f)
		}
		conns = append(conns, c)
	}
	s := definitions.OfConnections(conns)
	for _, c := range conns {
		if all, _ := s.Find(c.Header.Type()); len(all) > 0 {
			return s, nil
		}
	}
	h := conns[0].Header
	return nil, fmt.Errorf("%s says the md5sum %s of %s, but not its fields, as nodes in C++ do that subscribe; name a folder with its .msg files", h.CallerID(), h.MD5Sum(), h.Type())
}

// errKnown ends a link whose header is known.
var errKnown = errors.New("its header is known")

// ofPublisher returns the header of the first publisher that answers.
func ofPublisher(ctx context.Context, node *tcpros.Node, topic string) ([]tcpros.Header, error) {
	got := make(chan tcpros.Header, 1)
	s, err := node.Subscribe(tcpros.SubscribeOptions{
		Topic: topic,
		Open: func(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
			select {
			case got <- i.Header:
			default:
			}
			return nil, errKnown
		},
	})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	select {
	case h := <-got:
		return []tcpros.Header{h}, nil
	case <-ctx.Done():
		return nil, nil
	}
}
