package rosbag_test

import (
	"bytes"
	"fmt"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// part returns a bag with two messages of a topic, at 10n and 10n+1 seconds.
func part(topic string, n uint32) *bagfmt.Reader {
	var b bytes.Buffer
	w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{})
	if err != nil {
		panic(err)
	}
	c := &rosbag.Connection{Topic: topic, Header: rosbag.Header{{Key: rosbag.KeyType, Value: "std_msgs/Empty"}, {Key: rosbag.KeyMD5Sum, Value: "*"}}}
	for i := range uint32(2) {
		if err := w.Write(c, rosbag.Time{Sec: 10*n + i}, nil); err != nil {
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

// Read two bags as one, with the messages of both by time.
func ExampleSequence() {
	files := []rosbag.File{rosbag.FileOf("run_0.bag", part("/part", 0)), rosbag.FileOf("run_1.bag", part("/part", 1))}
	s := rosbag.NewSequence(files, rosbag.SequenceOptions{FileChanged: func(_, begun string) {
		if begun != "" {
			fmt.Println(begun)
		}
	}})
	defer s.Close()
	for s.HasNext() {
		m, err := s.Next()
		if err != nil {
			fmt.Println(err) // damage of the file s.File(); the loop continues after it
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

// Read one topic, then from an earlier place all of them.
func ExampleSequence_SetFilter() {
	s := rosbag.NewSequence([]rosbag.File{
		rosbag.FileOf("imu.bag", part("/imu", 0)), rosbag.FileOf("odom.bag", part("/odom", 1)),
	}, rosbag.SequenceOptions{})
	defer s.Close()
	s.SetFilter(rosbag.Query{Keep: func(c *rosbag.Connection) bool { return c.Topic == "/odom" }})
	m, err := s.Next()
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Time, m.Conn.Topic)

	s.SetFilter(rosbag.Query{})
	s.Seek(rosbag.Time{Sec: 1})
	if m, err = s.Next(); err != nil {
		panic(err)
	}
	fmt.Println(m.Time, m.Conn.Topic)
	// Output:
	// 10.000000000 /odom
	// 1.000000000 /imu
}

// Copy a Source to a Sink, whatever their formats are.
func ExampleSink() {
	save := func(from rosbag.Source, to rosbag.Sink) error {
		for m, err := range rosbag.Messages(from, rosbag.Query{}) {
			if err == nil {
				err = to.Write(m.Conn, m.Time, m.Data())
			}
			if err != nil {
				to.Abort()
				return err
			}
		}
		return to.Close()
	}

	var out bytes.Buffer
	w, err := bagfmt.NewWriter(&out, bagfmt.WriterOptions{})
	if err != nil {
		panic(err)
	}
	if err := save(part("/imu", 0), w); err != nil {
		panic(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()), bagfmt.ReaderOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Info().Messages, "messages")
	// Output: 2 messages
}
