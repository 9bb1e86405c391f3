package bagfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Record to memory and read it again. A bytes.Buffer cannot go back to complete
// the bag header, so what it holds is read front to back.
func Example() {
	var buf bytes.Buffer
	w, err := bagfmt.NewWriter(&buf, bagfmt.WriterOptions{Compression: rosbag.CompressionLZ4})
	if err != nil {
		panic(err)
	}
	conn, err := w.AddConnection("/chatter", rosbag.Header{
		{Key: "type", Value: "std_msgs/String"},
		{Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
		{Key: "message_definition", Value: "string data\n"},
	})
	if err != nil {
		panic(err)
	}
	for i := range 3 {
		data := []byte("\x05\x00\x00\x00hello") // a serialized std_msgs/String
		if err := w.Write(conn, rosbag.Time{Sec: uint32(10 + i)}, data); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}

	s, err := bagfmt.NewScanner(&buf, bagfmt.ScannerOptions{})
	if err != nil {
		panic(err)
	}
	for {
		m, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(err)
		}
		fmt.Println(m.Time, m.Conn.Topic, string(m.Data()[4:]))
	}
	// Output:
	// 10.000000000 /chatter hello
	// 11.000000000 /chatter hello
	// 12.000000000 /chatter hello
}

// Read the messages of one topic in a range of time. A damaged part of the bag is
// an error of one step; the loop continues after it.
func ExampleReader() {
	bag := exampleBag()
	r, err := bagfmt.NewReader(bytes.NewReader(bag), int64(len(bag)), bagfmt.ReaderOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Info().Messages, "messages from", r.Info().Start, "to", r.Info().End)
	q := rosbag.Query{
		Keep:  func(c *rosbag.Connection) bool { return c.Topic == "/odd" },
		Start: rosbag.Time{Sec: 3},
	}
	for m, err := range rosbag.Messages(r, q) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(m.Time, m.Conn.Topic, len(m.Data()))
	}
	// Output:
	// 6 messages from 1.000000000 to 6.000000000
	// 3.000000000 /odd 3
	// 5.000000000 /odd 5
}

// exampleBag is a bag of six messages in a file that can be written anywhere.
func exampleBag() []byte {
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		panic(err)
	}
	var conns [2]*rosbag.Connection
	for i, topic := range []string{"/even", "/odd"} {
		if conns[i], err = w.AddConnection(topic, nil); err != nil {
			panic(err)
		}
	}
	for i := 1; i <= 6; i++ {
		if err := w.Write(conns[i%2], rosbag.Time{Sec: uint32(i)}, make([]byte, i)); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return f.b
}
