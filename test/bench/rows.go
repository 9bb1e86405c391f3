//go:build linux

package main

import (
	"context"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/figures"
)

// row is one load of the table.
type row struct {
	name    string
	measure func(ctx context.Context, b *bench, t *figures.Table) error
}

// recordRows are the loads of recording in the order of the table.
var recordRows = []row{
	{"this machine", machine},
	{"1 topic, 1 MB, none", scenario{topics: 1, size: 1 << 20, count: 1500, rate: 4, ofCopy: 0.6, cpu: 1. / 3}.beside},
	{"1 topic, 100 B", scenario{topics: 1, size: 100, count: 500_000, rate: 20}.beside},
	{"20 topics, 1 kB", scenario{topics: 20, size: 1000, count: 20_000, rate: 5}.beside},
	{"200 topics, 1 kB at 50 Hz", scenario{topics: 200, size: 1000, count: 250, period: 20 * time.Millisecond, cpu: 1. / 3}.beside},
	{"1 topic, 1 MB, lz4", scenario{topics: 1, size: 1 << 20, count: 1000, rate: 3, args: []string{"--lz4"}}.beside},
	{"1 topic, 1 MB, bz2", scenario{topics: 1, size: 1 << 20, count: 60, rate: 1.3, args: []string{"--bz2"}}.beside},
	{"a robot: 40 topics, 50 MB/s, lz4", scenario{topics: 40, size: 12_500, count: 1000, period: 10 * time.Millisecond, args: []string{"--lz4"}}.beside},
	{"the robot, each on one core", scenario{topics: 40, size: 12_500, count: 1000, period: 10 * time.Millisecond, args: []string{"--lz4"}, oneCore: true}.beside},
	{"1 topic, 1 MB at 100 Hz", scenario{topics: 1, size: 1 << 20, count: 300, period: 10 * time.Millisecond}.beside},
	{"1 topic, 1 MB, --sync none", scenario{topics: 1, size: 1 << 20, count: 1500, unsynced: true, reported: true}.besideUnsynced},
	{"1 topic, 100 B, --sync none", scenario{topics: 1, size: 100, count: 500_000, unsynced: true, reported: true}.besideUnsynced},
	{"1,000 splits at 50 MB/s", splits},
	{"40 topics at 50 MB/s, watched", watched},
	{"100 MB/s, viewed", viewed},
	{"1 topic at 50 MB/s, uploaded", uploaded},
	{"SIGTERM at 100 MB/s", terminated(false)},
	{"SIGTERM, the master dead", terminated(true)},
	{"overload: disk of 20 MB/s", overload},
}
