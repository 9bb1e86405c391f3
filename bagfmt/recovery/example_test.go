package recovery_test

import (
	"bytes"
	"fmt"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Recover what is good of a bag whose end is missing.
func ExampleRecover() {
	bag := tornBag()
	var out bytes.Buffer // usually a new file
	w, err := bagfmt.NewWriter(&out, bagfmt.WriterOptions{})
	if err != nil {
		panic(err)
	}
	report, err := recovery.Recover(bytes.NewReader(bag), int64(len(bag)), w, recovery.Options{})
	if err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	fmt.Printf("version %s: kept %d messages of %d connection\n", report.Version, report.Messages, report.Connections)
	fmt.Printf("%d of %d chunks as they were, %d bytes skipped, messages lost: %v\n", report.Copied, report.Chunks, report.SkippedBytes, report.Lossy())
	for _, s := range report.Skipped {
		fmt.Printf("%d bytes at %d\n", s.Bytes, s.Offset)
	}
	if report.More > 0 {
		fmt.Println("and", report.More, "other places")
	}
	// Output:
	// version 2.0: kept 2 messages of 1 connection
	// 2 of 2 chunks as they were, 78 bytes skipped, messages lost: true
	// 78 bytes at 4578
}

// tornBag returns a bag of three chunks that was not closed, the last chunk of which is cut off.
func tornBag() []byte {
	var b bytes.Buffer
	w, err := bagfmt.NewWriter(&b, bagfmt.WriterOptions{ChunkBytes: 1}) // a chunk for each message
	if err != nil {
		panic(err)
	}
	c, err := w.AddConnection("/numbers", rosbag.Header{{Key: rosbag.KeyType, Value: "std_msgs/UInt8"}, {Key: rosbag.KeyMD5Sum, Value: "*"}})
	if err != nil {
		panic(err)
	}
	for i := range 3 {
		if err := w.Write(c, rosbag.Time{Sec: uint32(i)}, []byte{byte(i)}); err != nil {
			panic(err)
		}
	}
	return b.Bytes()[:b.Len()-100]
}
