package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"

	theirs "github.com/foxglove/go-rosbag"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	messageBytes = 1 << 10
	topics       = 8
	typeName     = "std_msgs/String"
	typeMD5      = "992ce8a1687cec8c8bd883ec73ca41d1"
	definition   = "string data\n"
)

// input is what both libraries write: messages that compress to about half, one
// millisecond apart.
type input struct {
	data     [][]byte // used in turn
	messages int
}

func newInput(messages int) *input {
	rnd := rand.New(rand.NewPCG(3, 4))
	in := &input{messages: messages}
	for range 1009 {
		b := make([]byte, messageBytes)
		for i := range b {
			if i/16%2 == 0 {
				b[i] = byte(rnd.Uint32())
			}
		}
		in.data = append(in.data, b)
	}
	return in
}

func (in *input) message(i int) (topic int, t rosbag.Time, data []byte) {
	return i % topics, rosbag.Time{Sec: uint32(i/1000 + 1), Nsec: uint32(i%1000) * 1e6}, in.data[i%len(in.data)]
}

func libraryContests(messages int) ([]contest, error) {
	in := newInput(messages)
	var list []contest
	for _, c := range []struct {
		compression rosbag.Compression
		want        float64
	}{{rosbag.CompressionNone, 3}, {rosbag.CompressionLZ4, 2}} {
		list = append(list, contest{
			name: fmt.Sprintf("write %s 1 KiB", c.compression), want: c.want,
			ours: func(context.Context) (work, error) {
				return timed(func() (int64, int64, error) { return writeOurs(sink{}, in, c.compression) })
			},
			theirs: func(context.Context) (work, error) {
				return timed(func() (int64, int64, error) { return writeTheirs(sink{}, in, c.compression) })
			},
		})
	}
	list = slices.Insert(list, 1, contest{
		name: "limit of it: copy and crc32c alone",
		ours: func(context.Context) (work, error) {
			return timed(func() (int64, int64, error) { return copyOnly(in) })
		},
		theirs: list[0].theirs,
	})
	for _, compression := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		var bag bytes.Buffer
		if _, _, err := writeOurs(&memFile{&bag}, in, compression); err != nil {
			return nil, err
		}
		for _, linear := range []bool{false, true} {
			how, ours := "indexed", readIndexed
			if linear {
				how, ours = "linear", readLinear
			}
			list = append(list, contest{
				name: fmt.Sprintf("read %s %s 1 KiB", how, compression), want: 3,
				ours: func(context.Context) (work, error) {
					return timed(func() (int64, int64, error) { return ours(bag.Bytes()) })
				},
				theirs: func(context.Context) (work, error) {
					return timed(func() (int64, int64, error) { return readTheirs(bag.Bytes(), linear) })
				},
			})
		}
	}
	return list, nil
}

// sink takes a bag and forgets it: the disk would be the same for both.
type sink struct{}

func (sink) Write(b []byte) (int, error)            { return len(b), nil }
func (sink) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil } //nolint:unparam // io.WriterAt
func (sink) Seek(int64, int) (int64, error)         { return 0, nil }

// memFile keeps a bag in memory.
type memFile struct{ *bytes.Buffer }

func (f *memFile) WriteAt(b []byte, off int64) (int, error) { return copy(f.Bytes()[off:], b), nil } //nolint:unparam // io.WriterAt

func writeOurs(w io.Writer, in *input, c rosbag.Compression) (messages, size int64, err error) {
	_, err = writeMessages(w, in, bagfmt.WriterOptions{Compression: c, Workers: runtime.GOMAXPROCS(0)})
	return int64(in.messages), int64(in.messages) * messageBytes, err
}

// copyOnly does what no writer of checked chunks can do without.
func copyOnly(in *input) (messages, size int64, err error) {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	chunk := make([]byte, 0, chunk.DefaultBytes)
	var sums uint32
	for i := range in.messages {
		_, _, data := in.message(i)
		if len(chunk)+len(data) > cap(chunk) {
			sums ^= crc32.Checksum(chunk, castagnoli)
			chunk = chunk[:0]
		}
		chunk = append(chunk, data...)
	}
	if sums == 0 {
		return 0, 0, errors.New("no checksums")
	}
	return int64(in.messages), int64(in.messages) * messageBytes, nil
}

// writeMessages writes a whole bag. The writer that it returns is closed.
func writeMessages(w io.Writer, in *input, o bagfmt.WriterOptions) (*bagfmt.Writer, error) {
	bw, err := bagfmt.NewWriter(w, o)
	if err != nil {
		return nil, err
	}
	var conns [topics]*rosbag.Connection
	for i := range conns {
		conns[i], err = bw.AddConnection(topicName(i), rosbag.Header{
			{Key: "topic", Value: topicName(i)},
			{Key: "type", Value: typeName},
			{Key: "md5sum", Value: typeMD5},
			{Key: "message_definition", Value: definition},
		})
		if err != nil {
			return nil, err
		}
	}
	for i := range in.messages {
		topic, t, data := in.message(i)
		if err := bw.Write(conns[topic], t, data); err != nil {
			return nil, err
		}
	}
	return bw, bw.Close()
}

func writeTheirs(w io.Writer, in *input, c rosbag.Compression) (messages, size int64, err error) {
	// The same chunk size for both: theirs is 4 MiB if nothing is said, ours 768 KiB.
	bw, err := theirs.NewWriter(w, theirs.WithCompression(string(c)), theirs.WithChunksize(chunk.DefaultBytes))
	if err != nil {
		return 0, 0, err
	}
	for i := range topics {
		err := bw.WriteConnection(&theirs.Connection{Conn: uint32(i), Topic: topicName(i), Data: theirs.ConnectionHeader{
			Topic: topicName(i), Type: typeName, MD5Sum: typeMD5, MessageDefinition: []byte(definition),
		}})
		if err != nil {
			return 0, 0, err
		}
	}
	var m theirs.Message
	for i := range in.messages {
		topic, t, data := in.message(i)
		m = theirs.Message{Conn: uint32(topic), Time: uint64(t.Sec)*1e9 + uint64(t.Nsec), Data: data}
		if err := bw.WriteMessage(&m); err != nil {
			return 0, 0, err
		}
		size += int64(len(data))
	}
	return int64(in.messages), size, bw.Close()
}

func topicName(i int) string { return fmt.Sprintf("/robot/sensor%d", i) }

// readIndexed reads a bag in time order through its index.
func readIndexed(bag []byte) (messages, size int64, err error) {
	r, err := bagfmt.NewReader(bytes.NewReader(bag), int64(len(bag)), bagfmt.ReaderOptions{})
	if err != nil {
		return 0, 0, err
	}
	c := r.Cursor(rosbag.Query{Workers: runtime.GOMAXPROCS(0), Reuse: true})
	defer c.Close()
	return drain(c.Next)
}

// readLinear reads a bag from front to back without its index.
func readLinear(bag []byte) (messages, size int64, err error) {
	s, err := bagfmt.NewScanner(struct{ io.Reader }{bytes.NewReader(bag)}, bagfmt.ScannerOptions{Reuse: true})
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	return drain(s.Next)
}

func drain(next func() (*rosbag.Message, error)) (messages, size int64, err error) {
	for {
		m, err := next()
		if errors.Is(err, io.EOF) {
			return messages, size, nil
		}
		if err != nil {
			return messages, size, err
		}
		messages++
		size += int64(len(m.Data()))
	}
}

func readTheirs(bag []byte, linear bool) (messages, size int64, err error) {
	r, err := theirs.NewReader(bytes.NewReader(bag))
	if err != nil {
		return 0, 0, err
	}
	it, err := r.Messages(theirs.ScanLinear(linear))
	if err != nil {
		return 0, 0, err
	}
	for it.More() {
		_, m, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return messages, size, err
		}
		messages++
		size += int64(len(m.Data))
	}
	return messages, size, nil
}
