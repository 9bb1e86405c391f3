package rosbag_test

import (
	"bytes"
	"fmt"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// ExampleSequence reads two bags as one, with the messages of both by time.
func ExampleSequence() {
	var files []rosbag.File
	for i, name := range []string{"run_0.bag", "run_1.bag"} {
		var b bytes.Buffer
		w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{})
		if err != nil {
			panic(err)
		}
		c := &rosbag.Connection{Topic: "/part", Header: rosbag.Header{{Key: "type", Value: "std_msgs/Empty"}, {Key: "md5sum", Value: "*"}}}
		for n := range 2 {
			if err := w.Write(c, rosbag.Time{Sec: uint32(10*i + n)}, nil); err != nil {
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
		files = append(files, rosbag.FileOf(name, r))
	}
	s := rosbag.NewSequence(files, rosbag.SequenceOptions{FileChanged: func(_, begun string) {
		if begun != "" {
			fmt.Println(begun)
		}
	}})
	defer s.Close()
	for s.HasNext() {
		m, err := s.Next()
		if err != nil {
			fmt.Println(err) // damage of the file s.File(); the loop goes on behind it
			continue
		}
		fmt.Println(m.Time, m.Conn.Topic)
	}
	// Output:
	// run_0.bag
	// 0.000000000 /part
	// 1.000000000 /part
	// run_1.bag
	// 10.000000000 /part
	// 11.000000000 /part
}
