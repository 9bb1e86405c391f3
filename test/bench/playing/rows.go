//go:build linux

package playing

import (
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/bench/machine"
	"github.com/gorosbag/gorosbag/test/bench/station"
)

// Rows are the loads of playing in the order of the table.
var Rows = []station.Row{
	{Name: "this machine", Measure: machine.Measure},
	{Name: "1 topic, 1 kHz", Measure: pace{tape: tape{topics: 1, size: 100, count: 10_000, period: time.Millisecond}, p50: 0.5, p99: 0.5}.beside},
	{Name: "1 topic, 1 kHz, a minute", Measure: pace{tape: tape{topics: 1, size: 100, count: 60_000, period: time.Millisecond}, drift: time.Millisecond, alone: true}.beside},
	{Name: "20 topics, 100 Hz", Measure: pace{tape: tape{topics: 20, size: 1000, count: 1000, period: 10 * time.Millisecond}, p99: 0.5}.beside},
	{Name: "20 topics, 100 Hz, rate 10", Measure: pace{tape: tape{topics: 20, size: 1000, count: 10_000, period: 10 * time.Millisecond}, factor: 10, p99: 0.5}.beside},
	{Name: "200 topics, 50 Hz, lz4", Measure: pace{tape: tape{topics: 200, size: 1000, count: 500, period: 20 * time.Millisecond, compression: rosbag.CompressionLZ4}, p999: 5 * time.Millisecond, cpu: 0.5}.beside},
	{Name: "200 topics, 50 Hz, bz2", Measure: pace{tape: tape{topics: 200, size: 1000, count: 500, period: 20 * time.Millisecond, compression: rosbag.CompressionBZ2}, p999: 5 * time.Millisecond, cpu: 0.5}.beside},
	{Name: "roscpp, 1 topic, 1 kHz", Measure: client{tape: tape{topics: 1, size: 100, count: 3000, period: time.Millisecond}, library: "roscpp"}.beside},
	{Name: "roscpp, 20 topics, 100 Hz", Measure: client{tape: tape{topics: 20, size: 1000, count: 300, period: 10 * time.Millisecond}, library: "roscpp"}.beside},
	{Name: "rospy, 1 topic, 1 kHz", Measure: client{tape: tape{topics: 1, size: 100, count: 3000, period: time.Millisecond}, library: "rospy"}.beside},
	{Name: "rospy, 20 topics, 100 Hz", Measure: client{tape: tape{topics: 20, size: 1000, count: 300, period: 10 * time.Millisecond}, library: "rospy"}.beside},
	{Name: "immediate, 1 MB, none", Measure: flood{tape: tape{topics: 1, size: 1 << 20, count: 2000, period: time.Millisecond}, rate: 4, ofCopy: 0.5}.beside},
	{Name: "immediate, 1 MB, lz4", Measure: flood{tape: tape{topics: 1, size: 1 << 20, count: 2000, period: time.Millisecond, compression: rosbag.CompressionLZ4}, rate: 4, ofCopy: 0.5}.beside},
	{Name: "immediate, 100 B", Measure: flood{tape: tape{topics: 1, size: 100, count: 1_000_000, period: time.Microsecond}, rate: 3}.beside},
	{Name: "one subscriber that never reads", Measure: besideStuck},
	{Name: "100,000 chunks", Measure: manyChunks},
	{Name: "seek", Measure: seeks},
	{Name: "seek, bz2", Measure: seeksSlow},
	{Name: "/clock at 100 Hz beside 300 MB/s", Measure: clockGaps},
}
