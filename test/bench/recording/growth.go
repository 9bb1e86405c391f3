//go:build linux

package recording

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/station"
)

// Growth are loads of recording that grow. Topics are paced, because a flood of thousands fills the buffer or not, as
// the disk is: docs/performance-limits.md has what a full buffer costs then.
var Growth = []station.Row{
	{Name: "record 10 to 4,000 topics", Measure: station.Growing{Sizes: []int{10, 100, 1000, 4000}, Measure: func(ctx context.Context, b *station.Bench, n int) (station.Usage, error) {
		return complete(record(ctx, b, scenario{topics: n, size: 1000, count: 20, period: 200 * time.Millisecond}, b.Gorecord, "--overflow=block"))
	}}.Judge},
	{Name: "record 10^4 to 10^6 chunks", Measure: station.Growing{Sizes: []int{10_000, 100_000, 1_000_000}, Measure: func(ctx context.Context, b *station.Bench, n int) (station.Usage, error) {
		return complete(record(ctx, b, scenario{topics: 1, size: 1024, count: n}, b.Gorecord, "--overflow=block", "--chunksize=1"))
	}}.Judge},
	{Name: "record 1 to 2,000 publishers", Measure: station.Growing{Sizes: []int{1, 100, 1000, 2000}, Measure: publishers}.Judge},
	{Name: "record for 1 to 16 viewers", Measure: station.Growing{Sizes: []int{1, 4, 16}, Measure: func(ctx context.Context, b *station.Bench, n int) (station.Usage, error) {
		r, err := recordViewed(ctx, b, scenario{topics: 4, size: 250_000, count: 200, period: 20 * time.Millisecond}, n, 0)
		return complete(r.result, err)
	}}.Judge},
}

// complete returns what a recorder used that has lost nothing.
func complete(r result, err error) (station.Usage, error) {
	if err == nil && r.lost() > 0 {
		err = fmt.Errorf("%d of %d messages are lost", r.lost(), r.sent)
	}
	return r.Usage, err
}

// publishers records n publishers of one topic.
func publishers(ctx context.Context, b *station.Bench, n int) (_ station.Usage, err error) {
	s := scenario{topics: n, size: 1000, count: 100}
	all := s.streams()
	for i := range all {
		all[i].node, all[i].topic = all[i].topic, all[0].topic
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := prepare(ctx, b, all)
	if err != nil {
		return station.Usage{}, err
	}
	defer func() { err = errors.Join(err, r.Remove()) }()
	if err := r.Start(ctx, b.Gorecord, "--overflow=block", "-O", "load.bag", all[0].topic); err != nil {
		return station.Usage{}, err
	}
	if err := r.flow.send(ctx); err != nil {
		return station.Usage{}, fmt.Errorf("%w\n%s", err, r.Out.String())
	}
	return r.End(syscall.SIGINT)
}
