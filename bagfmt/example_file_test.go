package bagfmt_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// chatter is the connection header of a topic with strings.
var chatter = rosbag.Header{
	{Key: rosbag.KeyType, Value: "std_msgs/String"},
	{Key: rosbag.KeyMD5Sum, Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
	{Key: rosbag.KeyMessageDefinition, Value: "string data\n"},
}

// writeFile writes a bag with one message of /chatter for each text.
func writeFile(path string, texts ...string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{Compression: rosbag.CompressionLZ4})
	if err != nil {
		return err
	}
	defer w.Abort() // harmless after Close
	c, err := w.AddConnection("/chatter", chatter)
	if err != nil {
		return err
	}
	for i, text := range texts {
		data := append([]byte{byte(len(text)), 0, 0, 0}, text...) // a serialized std_msgs/String
		if err := w.Write(c, rosbag.Time{Sec: uint32(10 + i)}, data); err != nil {
			return err
		}
	}
	return w.Close() // writes the index, and makes the bag durable
}

// exampleFile makes a bag for an example, and what removes it.
func exampleFile(texts ...string) (path string, remove func()) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	path = filepath.Join(dir, "run1.bag")
	if err := writeFile(path, texts...); err != nil {
		panic(err)
	}
	return path, func() { os.RemoveAll(dir) }
}

// Write a bag to a file: NewWriter, AddConnection, Write and Close.
func ExampleWriter() {
	path, remove := exampleFile() // without messages
	defer remove()
	f, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{Compression: rosbag.CompressionLZ4})
	if err != nil {
		panic(err)
	}
	defer w.Abort() // harmless after Close
	c, err := w.AddConnection("/chatter", rosbag.Header{
		{Key: rosbag.KeyType, Value: "std_msgs/String"},
		{Key: rosbag.KeyMD5Sum, Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
		{Key: rosbag.KeyMessageDefinition, Value: "string data\n"},
	})
	if err != nil {
		panic(err)
	}
	data := []byte("\x05\x00\x00\x00hello") // a serialized std_msgs/String
	if err := w.Write(c, rosbag.Time{Sec: 10}, data); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil { // writes the index, and makes the bag durable
		panic(err)
	}
	h, err := bagfmt.ReadBagHeader(f, w.Size()+w.IndexBytes(nil))
	if err != nil {
		panic(err)
	}
	fmt.Println(h.Chunks, "chunk,", h.Connections, "connection")
	// Output: 1 chunk, 1 connection
}

// Read a bag and decode its messages by the definitions that it carries.
func ExampleNewReader() {
	path, remove := exampleFile("hello", "world")
	defer remove()
	f, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		panic(err)
	}
	r, err := bagfmt.NewReader(f, info.Size(), bagfmt.ReaderOptions{CacheBytes: 16 << 20}) // 16 MiB instead of 128
	if err != nil {
		panic(err)
	}
	types := make(map[*rosbag.Connection]*rosmsg.Type)
	for _, c := range r.Connections() {
		if types[c], err = rosmsg.Parse(c.Header.Type(), c.Header.MessageDefinition()); err != nil {
			panic(err)
		}
	}
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			fmt.Println(err) // damage at this place; the loop continues after it
			continue
		}
		v, err := types[m.Conn].Decode(m.Data())
		if err != nil {
			panic(err)
		}
		fmt.Println(m.Time, m.Conn.Topic, v.Get("data"))
	}
	// Output:
	// 10.000000000 /chatter hello
	// 11.000000000 /chatter world
}

// Read a bag from a pipe while it is written, front to back.
func ExampleScanner() {
	path, remove := exampleFile("hello", "world")
	defer remove()
	pipe, end := io.Pipe() // as os.Stdin, or the body of an HTTP response
	go func() {
		f, err := os.Open(path)
		if err == nil {
			defer f.Close()
			_, err = io.Copy(end, f)
		}
		end.CloseWithError(err) // nil means io.EOF
	}()
	s, err := bagfmt.NewScanner(pipe, bagfmt.ScannerOptions{})
	if err != nil {
		panic(err)
	}
	for {
		m, err := s.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, rosbag.ErrCorrupt) {
			break
		}
		if err != nil {
			fmt.Println(err) // damage at this place; the loop continues after it
			continue
		}
		fmt.Println(m.Time, m.Conn.Topic, string(m.Data()[4:]))
	}
	// Output:
	// 10.000000000 /chatter hello
	// 11.000000000 /chatter world
}

// Add a message to a bag. Until Close has returned, the bag is as it was.
func ExampleAppend() {
	path, remove := exampleFile("hello")
	defer remove()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		panic(err)
	}
	w, err := bagfmt.Append(f, info.Size(), bagfmt.WriterOptions{})
	if err != nil {
		panic(err)
	}
	defer w.Abort() // without Close, it cuts off what was added
	for _, c := range w.Connections() {
		fmt.Println(c.Topic, "was there")
	}
	c, err := w.AddConnection("/notes", chatter)
	if err != nil {
		panic(err)
	}
	if err := w.Write(c, rosbag.Time{Sec: 12}, []byte("\x04\x00\x00\x00note")); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}

	info, err = f.Stat()
	if err != nil {
		panic(err)
	}
	r, err := bagfmt.NewReader(f, info.Size(), bagfmt.ReaderOptions{})
	if err != nil {
		panic(err)
	}
	for _, c := range r.Connections() {
		fmt.Println(c.ID, c.Topic)
	}
	// Output:
	// /chatter was there
	// 0 /chatter
	// 1 /notes
}
