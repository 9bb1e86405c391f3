package chunk_test

import (
	"fmt"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Collect messages in memory, and compress them when they are to be kept.
func Example() {
	z, err := chunk.NewCompressor(rosbag.CompressionLZ4)
	if err != nil {
		panic(err)
	}
	var b chunk.Builder
	b.Reset(&chunk.Records{})
	c := &rosbag.Connection{Topic: "/imu", Header: rosbag.Header{{Key: rosbag.KeyType, Value: "std_msgs/Empty"}}}
	for i := range uint32(3) {
		b.AppendMessage(c, rosbag.Time{Sec: 10 + i}, make([]byte, 1000))
	}
	sealed, err := b.Seal(z, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(b.Messages(), "messages from", sealed.Start, "to", sealed.End, sealed.Compression)
	// Output: 3 messages from 10.000000000 to 12.000000000 lz4
}
