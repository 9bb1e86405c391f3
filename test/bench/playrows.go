//go:build linux

package main

import (
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// playRows are the loads of playing in the order of the table.
var playRows = []row{
	{"this machine", machine},
	{"1 topic, 1 kHz", pace{tape: tape{topics: 1, size: 100, count: 10_000, period: time.Millisecond}, p50: 0.5, p99: 0.5}.beside},
	{"1 topic, 1 kHz, a minute", pace{tape: tape{topics: 1, size: 100, count: 60_000, period: time.Millisecond}, drift: time.Millisecond, alone: true}.beside},
	{"20 topics, 100 Hz", pace{tape: tape{topics: 20, size: 1000, count: 1000, period: 10 * time.Millisecond}, p99: 0.5}.beside},
	{"20 topics, 100 Hz, rate 10", pace{tape: tape{topics: 20, size: 1000, count: 10_000, period: 10 * time.Millisecond}, factor: 10, p99: 0.5}.beside},
	{"200 topics, 50 Hz, lz4", pace{tape: tape{topics: 200, size: 1000, count: 500, period: 20 * time.Millisecond, compression: rosbag.CompressionLZ4}, p999: 5 * time.Millisecond, cpu: 0.5}.beside},
	{"200 topics, 50 Hz, bz2", pace{tape: tape{topics: 200, size: 1000, count: 500, period: 20 * time.Millisecond, compression: rosbag.CompressionBZ2}, p999: 5 * time.Millisecond, cpu: 0.5}.beside},
	{"roscpp, 1 topic, 1 kHz", client{tape: tape{topics: 1, size: 100, count: 3000, period: time.Millisecond}, library: "roscpp"}.beside},
	{"roscpp, 20 topics, 100 Hz", client{tape: tape{topics: 20, size: 1000, count: 300, period: 10 * time.Millisecond}, library: "roscpp"}.beside},
	{"rospy, 1 topic, 1 kHz", client{tape: tape{topics: 1, size: 100, count: 3000, period: time.Millisecond}, library: "rospy"}.beside},
	{"rospy, 20 topics, 100 Hz", client{tape: tape{topics: 20, size: 1000, count: 300, period: 10 * time.Millisecond}, library: "rospy"}.beside},
	{"immediate, 1 MB, none", flood{tape: tape{topics: 1, size: 1 << 20, count: 2000, period: time.Millisecond}, rate: 4, ofCopy: 0.5}.beside},
	{"immediate, 1 MB, lz4", flood{tape: tape{topics: 1, size: 1 << 20, count: 2000, period: time.Millisecond, compression: rosbag.CompressionLZ4}, rate: 4, ofCopy: 0.5}.beside},
	{"immediate, 100 B", flood{tape: tape{topics: 1, size: 100, count: 1_000_000, period: time.Microsecond}, rate: 3}.beside},
	{"one subscriber that never reads", besideStuck},
	{"100,000 chunks", manyChunks},
	{"seek", seeks},
	{"seek, bz2", seeksSlow},
	{"/clock at 100 Hz beside 300 MB/s", clockGaps},
}
