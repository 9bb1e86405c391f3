package tcpros_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
	"github.com/gorosbag/gorosbag/rosmsg/rossrv"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// exampleNode starts a node beside a master of its own. A program passes no MasterURI, so that
// __master:= and ROS_MASTER_URI set the master.
func exampleNode() (n *tcpros.Node, stop func()) {
	m, err := master.New(context.Background(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		panic(err)
	}
	n, err = tcpros.NewNode(context.Background(), tcpros.NodeOptions{BaseName: "example", MasterURI: m.URI(), Getenv: noEnv})
	if err != nil {
		panic(err)
	}
	return n, func() {
		_ = n.Close(context.Background())
		_ = m.Close()
	}
}

// A node resolves names, and asks its master.
func ExampleNewNode() {
	n, stop := exampleNode()
	defer stop()
	topic, err := n.Resolve("~imu")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(n.Name(), topic)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.Master().SetParam(ctx, "/robot", "r2"); err != nil {
		fmt.Println(err)
		return
	}
	value, ok, err := n.Master().Param(ctx, "/robot")
	fmt.Println(value, ok, err)
	// Output:
	// /example /example/imu
	// r2 true <nil>
}

// A subscription opens a link to each publisher, whenever a publisher appears. The type of the
// topic need not be known: the header of the link has it.
func ExampleNode_Subscribe() {
	n, stop := exampleNode()
	defer stop()
	done := make(chan struct{}, 1)
	sub, err := n.Subscribe(tcpros.SubscribeOptions{Topic: "chatter", Open: func(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
		typ, err := rosmsg.Parse(i.Header.Value("type"), i.Header.Value("message_definition"))
		if err != nil {
			return nil, err
		}
		return tcpros.SinkFunc(func(payload []byte, _ time.Time) {
			m, err := typ.Decode(payload)
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(i.Topic, typ.Name(), m.Get("data"))
			done <- struct{}{}
		}), nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sub.Close()

	typ, err := noetic.Parse("std_msgs/String")
	if err != nil {
		panic(err)
	}
	pub, err := n.Advertise(tcpros.AdvertiseOptions{
		Topic: "chatter", Type: typ.Name(), MD5Sum: typ.MD5Sum(), MessageDefinition: typ.Definition(), Latching: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pub.Close()
	payload, err := typ.Encode(map[string]any{"data": "hello"})
	if err != nil {
		panic(err)
	}
	pub.Source(true).Publish(tcpros.Frame(payload)) // latched: for subscribers to come
	<-done
	// Output: /chatter std_msgs/String hello
}

// A publication sends frames: the length of the payload, then the payload as it is on the wire and
// in bags. Drain waits until all subscribers have read them.
func ExampleNode_Advertise() {
	n, stop := exampleNode()
	defer stop()
	pub, err := n.Advertise(tcpros.AdvertiseOptions{
		Topic: "count", Type: "std_msgs/UInt32", MD5Sum: "304a39449588c7f8ce2df6e8001c5fce", MessageDefinition: "uint32 data\n",
		QueueFrames: 100, // a further frame drops the oldest when a subscriber has not read so many
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	src := pub.Source(false)
	for i := range uint32(3) {
		src.Publish(binary.LittleEndian.AppendUint32([]byte{4, 0, 0, 0}, i)) // all subscribers share the frame: do not change it
	}
	fmt.Println(pub.Topic(), pub.Subscribers(), pub.Dropped())
	fmt.Println(n.Drain(context.Background()))
	// Output:
	// /count 0 0
	// <nil>
}

// A node provides a service, and calls it as it would call a service of another node.
func ExampleNode_CallService() {
	n, stop := exampleNode()
	defer stop()
	setBool, err := rossrv.Parse("std_srvs/SetBool", "bool data\n---\nbool success\nstring message\n")
	if err != nil {
		panic(err)
	}
	service, err := n.AdvertiseService(tcpros.ServiceOptions{
		Name: "light", Type: tcpros.SetBoolService,
		Handle: func(_ context.Context, request []byte) ([]byte, error) {
			m, err := setBool.Request.Decode(request)
			if err != nil {
				return nil, err // the caller gets the text
			}
			return setBool.Response.Encode(map[string]any{"success": true, "message": fmt.Sprint("the light is on: ", m.Get("data"))})
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer service.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for { // the service is registered in the background
		if _, err := n.Master().LookupService(ctx, service.Name()); err == nil || ctx.Err() != nil {
			break
		}
	}
	request, err := setBool.Request.Encode(map[string]any{"data": true})
	if err != nil {
		panic(err)
	}
	response, err := n.CallService(ctx, "light", tcpros.ServiceType{Type: setBool.Name, MD5Sum: setBool.MD5Sum}, request)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := setBool.Response.Decode(response)
	fmt.Println(answer.Get("message"), err)
	// Output: the light is on: true <nil>
}
