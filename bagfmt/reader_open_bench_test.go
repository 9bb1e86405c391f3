package bagfmt_test

import (
	"fmt"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// BenchmarkOpen opens bags of 100,000 messages of 1 KiB.
func BenchmarkOpen(b *testing.B) {
	conns, _ := sample(0)
	data := string(make([]byte, 1024))
	msgs := make([]msg, 100_000)
	for i := range msgs {
		msgs[i] = msg{conns[i%3].Topic, rosbag.Time{Sec: uint32(i)}, data}
	}
	old := []byte("#ROSRECORD V1.1\n")
	for i := range msgs {
		old = append(old, fmt.Sprintf("/t%d\n*\nsensor_msgs/Imu\n%s", i%8, u32s(uint32(i), 0, 1024))...)
		old = append(old, data...)
	}
	none := writeBag(b, bagfmt.WriterOptions{}, conns, msgs)
	bags := map[string][]byte{
		"version=2.0/index=yes":          none,
		"version=2.0/index=no":           unindexed(b, none),
		"version=2.0/index=no/comp=lz4":  unindexed(b, writeBag(b, bagfmt.WriterOptions{Compression: rosbag.CompressionLZ4}, conns, msgs)),
		"version=2.0/index=none-of-data": unindexed(b, withoutIndexData(b, none)),
		"version=1.1":                    old,
	}
	for name, bag := range bags {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(bag)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := openAny(bag)
				if err != nil || r.Info().Messages != 100_000 {
					b.Fatal(r.Info().Messages, err)
				}
			}
		})
	}
}
