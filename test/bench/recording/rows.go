//go:build linux

package recording

import (
	"time"

	"github.com/gorosbag/gorosbag/test/bench/machine"
	"github.com/gorosbag/gorosbag/test/bench/station"
)

// Rows are the loads of recording in the order of the table.
var Rows = []station.Row{
	{Name: "this machine", Measure: machine.Measure},
	{Name: "1 topic, 1 MB, none", Measure: scenario{topics: 1, size: 1 << 20, count: 1500, rate: 4, ofCopy: 0.6, cpu: 1. / 3}.beside},
	{Name: "1 topic, 100 B", Measure: scenario{topics: 1, size: 100, count: 500_000, rate: 20}.beside},
	{Name: "20 topics, 1 kB", Measure: scenario{topics: 20, size: 1000, count: 20_000, rate: 5}.beside},
	{Name: "200 topics, 1 kB at 50 Hz", Measure: scenario{topics: 200, size: 1000, count: 250, period: 20 * time.Millisecond, cpu: 1. / 3}.beside},
	{Name: "1 topic, 1 MB, lz4", Measure: scenario{topics: 1, size: 1 << 20, count: 1000, rate: 3, args: []string{"--lz4"}}.beside},
	{Name: "1 topic, 1 MB, bz2", Measure: scenario{topics: 1, size: 1 << 20, count: 60, rate: 1.3, args: []string{"--bz2"}}.beside},
	{Name: "a robot: 40 topics, 50 MB/s, lz4", Measure: scenario{topics: 40, size: 12_500, count: 1000, period: 10 * time.Millisecond, args: []string{"--lz4"}}.beside},
	{Name: "the robot, each on one core", Measure: scenario{topics: 40, size: 12_500, count: 1000, period: 10 * time.Millisecond, args: []string{"--lz4"}, oneCore: true}.beside},
	{Name: "1 topic, 1 MB at 100 Hz", Measure: scenario{topics: 1, size: 1 << 20, count: 300, period: 10 * time.Millisecond}.beside},
	{Name: "1 topic, 1 MB, --sync none", Measure: scenario{topics: 1, size: 1 << 20, count: 1500, unsynced: true, reported: true}.besideUnsynced},
	{Name: "1 topic, 100 B, --sync none", Measure: scenario{topics: 1, size: 100, count: 500_000, unsynced: true, reported: true}.besideUnsynced},
	{Name: "1,000 splits at 50 MB/s", Measure: splits},
	{Name: "40 topics at 50 MB/s, watched", Measure: watched},
	{Name: "100 MB/s, viewed", Measure: viewed},
	{Name: "100 MB/s, viewed on the page", Measure: looked},
	{Name: "1 topic at 50 MB/s, uploaded", Measure: uploaded},
	{Name: "SIGTERM at 100 MB/s", Measure: terminated(false)},
	{Name: "SIGTERM, the master dead", Measure: terminated(true)},
	{Name: "overload: disk of 20 MB/s", Measure: overload},
}
