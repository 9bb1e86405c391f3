package recorder_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// exampleNode starts a node beside a master of its own. A program passes no MasterURI, so that ROS_MASTER_URI counts.
func exampleNode(m *master.Master, name string) *tcpros.Node {
	n, err := tcpros.NewNode(context.Background(), tcpros.NodeOptions{BaseName: name, MasterURI: m.URI()})
	if err != nil {
		panic(err)
	}
	return n
}

// Record one message of a topic.
func ExampleRun() {
	ctx := context.Background()
	m, err := master.New(ctx, master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		panic(err)
	}
	defer m.Close()
	robot, node := exampleNode(m, "robot"), exampleNode(m, "black_box")
	defer robot.Close(ctx)
	defer node.Close(ctx)
	text, err := noetic.Parse("std_msgs/String")
	if err != nil {
		panic(err)
	}
	pub, err := robot.Advertise(tcpros.AdvertiseOptions{Topic: "/state", Type: text.Name(), MD5Sum: text.MD5Sum(), MessageDefinition: text.Definition(), Latching: true})
	if err != nil {
		panic(err)
	}
	payload, err := text.Encode(map[string]any{"data": "ready"})
	if err != nil {
		panic(err)
	}
	pub.Source(true).Publish(tcpros.Frame(payload))

	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	sum, err := recorder.Run(ctx, recorder.Options{
		Node:   node,
		Select: recorder.Selection{Topics: []string{"/state"}},
		Output: recorder.Output{Name: filepath.Join(dir, "run1.bag")},
		Limit:  1, // without it, until ctx is done
	})
	for _, t := range sum.Topics {
		fmt.Println(t.Topic, t.Messages, filepath.Base(sum.File), err)
	}
	// Output: /state 1 run1.bag <nil>
}
