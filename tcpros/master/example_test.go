package master_test

import (
	"context"
	"fmt"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// A master in this process, and a node that uses it: for tests without roscore.
func Example() {
	m, err := master.New(context.Background(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		panic(err)
	}
	defer m.Close()
	node, err := tcpros.NewNode(context.Background(), tcpros.NodeOptions{BaseName: "tester", MasterURI: m.URI()})
	if err != nil {
		panic(err)
	}
	defer node.Close(context.Background())
	if err := node.Master().SetParam(context.Background(), "/limit", 3); err != nil {
		panic(err)
	}
	value, found, err := node.Master().Param(context.Background(), "/limit")
	fmt.Println(value, found, err)
	// Output: 3 true <nil>
}
