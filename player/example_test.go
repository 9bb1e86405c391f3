package player_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// exampleBag is a bag with two messages, one second apart.
func exampleBag() *bagfmt.Reader {
	text, err := noetic.Parse("std_msgs/String")
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{})
	if err != nil {
		panic(err)
	}
	c := &rosbag.Connection{Topic: "/state", Header: rosbag.Header{
		{Key: rosbag.KeyType, Value: text.Name()}, {Key: rosbag.KeyMD5Sum, Value: text.MD5Sum()}, {Key: rosbag.KeyMessageDefinition, Value: text.Definition()},
	}}
	for i := range uint32(2) {
		payload, err := text.Encode(map[string]any{"data": "ready"})
		if err != nil {
			panic(err)
		}
		if err := w.Write(c, rosbag.Time{Sec: 10 + i}, payload); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()), bagfmt.ReaderOptions{})
	if err != nil {
		panic(err)
	}
	return r
}

// Play a bag a hundred times as fast.
func ExampleRun() {
	ctx := context.Background()
	m, err := master.New(ctx, master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		panic(err)
	}
	defer m.Close()
	// A program passes no MasterURI, so that ROS_MASTER_URI counts.
	node, err := tcpros.NewNode(ctx, tcpros.NodeOptions{BaseName: "play", MasterURI: m.URI()})
	if err != nil {
		panic(err)
	}
	defer node.Close(ctx)
	bag, err := player.NewBag(ctx, "run1.bag", exampleBag())
	if err != nil {
		panic(err)
	}
	sum, err := player.Run(ctx, player.Options{Node: node, Bags: []*player.Bag{bag}, Rate: 100})
	fmt.Println(sum.Messages, sum.Played, err)
	// Output: 2 1s <nil>
}
