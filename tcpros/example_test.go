package tcpros_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

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

// printer prints the messages of one publisher.
type printer struct{ done chan<- struct{} }

// Frames implements tcpros.LinkSink. Each frame is a length and a payload; the payload of a
// std_msgs/String is another length and the text.
func (p printer) Frames(run []byte, count int, _ time.Time) {
	for range count {
		n := binary.LittleEndian.Uint32(run)
		fmt.Printf("%s\n", run[8:4+n])
		run = run[4+n:]
	}
	p.done <- struct{}{}
}

// Large implements tcpros.LinkSink: messages of more than 128 KiB are discarded.
func (p printer) Large(int) tcpros.LargeFrame { return nil }

// Closed implements tcpros.LinkSink.
func (p printer) Closed(error) {}

// A subscription opens a link to each publisher, whenever a publisher appears. The type of the
// topic need not be known.
func ExampleNode_Subscribe() {
	n, stop := exampleNode()
	defer stop()
	done := make(chan struct{}, 1)
	sub, err := n.Subscribe(tcpros.SubscribeOptions{Topic: "chatter", Open: func(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
		typ, _ := i.Header.Get("type")
		fmt.Println(i.Topic, typ)
		return printer{done}, nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sub.Close()

	pub, err := n.Advertise(tcpros.AdvertiseOptions{
		Topic: "chatter", Type: "std_msgs/String", MD5Sum: "992ce8a1687cec8c8bd883ec73ca41d1", MessageDefinition: "string data\n",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pub.Close()
	pub.Source(true).Publish([]byte("\x09\x00\x00\x00\x05\x00\x00\x00hello")) // latched: for subscribers to come
	<-done
	// Output:
	// /chatter std_msgs/String
	// hello
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
	service, err := n.AdvertiseService(tcpros.ServiceOptions{
		Name: "light", Type: tcpros.SetBoolService,
		Handle: func(_ context.Context, request []byte) ([]byte, error) {
			on, err := tcpros.DecodeBool(request)
			if err != nil {
				return nil, err // the caller gets the text
			}
			return tcpros.Outcome{Success: true, Message: fmt.Sprint("the light is on: ", on)}.Encode(), nil
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
	answer, err := n.CallService(ctx, "light", tcpros.SetBoolService, tcpros.EncodeBool(true))
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome, err := tcpros.DecodeOutcome(answer)
	fmt.Println(outcome.Message, err)
	// Output: the light is on: true <nil>
}
