//go:build linux

package playing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/station"
	"github.com/gorosbag/gorosbag/test/probe"
)

// Growth are loads of playing and reading that grow.
var Growth = []station.Row{
	{Name: "play to 1 to 100 subscribers", Measure: station.Growing{Sizes: []int{1, 10, 100}, Measure: subscribed}.Judge},
	{Name: "play 10^4 to 10^6 chunks", Measure: station.Growing{Sizes: chunkCounts, Measure: func(ctx context.Context, b *station.Bench, n int) (use station.Usage, err error) {
		err = chunked(n).use(b, func(bag string) error {
			var d delivery
			d, err = flood{tape: chunked(n)}.deliver(ctx, b, b.Goplay, "--immediate", "--quiet", "--wait-for-subscribers", bag)
			use = d.Usage
			return err
		})
		return use, err
	}}.Judge},
	{Name: "gobag info, 10^4 to 10^6 chunks", Measure: station.Growing{Sizes: chunkCounts, Measure: tool("info")}.Judge},
	{Name: "gobag check, 10^4 to 10^6 chunks", Measure: station.Growing{Sizes: chunkCounts, Measure: tool("check")}.Judge},
	{Name: "gobag reindex, 10^4 to 10^6 chunks", Measure: station.Growing{Sizes: chunkCounts, Measure: tool("reindex")}.Judge},
}

var chunkCounts = []int{10_000, 100_000, 1_000_000}

// chunked is a bag in which each message has a chunk of its own.
func chunked(n int) tape {
	return tape{topics: 1, size: 100, count: n, period: time.Millisecond, chunkBytes: 1}
}

// tool runs a command of gobag on a bag of chunks.
func tool(command string) func(ctx context.Context, b *station.Bench, n int) (station.Usage, error) {
	return func(ctx context.Context, b *station.Bench, n int) (use station.Usage, err error) {
		err = chunked(n).use(b, func(bag string) (err error) {
			s, err := b.Station(ctx)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.Remove()) }()
			if err := s.Start(ctx, b.Gobag, command, bag); err != nil {
				return err
			}
			use, err = s.Wait()
			return err
		})
		return use, err
	}
}

// subscribed plays to n subscribers of one topic.
func subscribed(ctx context.Context, b *station.Bench, n int) (use station.Usage, err error) {
	t := tape{topics: 1, size: 1000, count: 20_000, period: 100 * time.Microsecond}
	err = t.use(b, func(bag string) error {
		use, err = play(ctx, b, b.Goplay, []string{"--immediate", "--quiet", "--delay=2", bag}, func(ctx context.Context, s *station.Station) error {
			var links []*probe.Link
			defer func() { probe.Close(links) }()
			for i := range n {
				l, err := connect(ctx, s, fmt.Sprintf("/reader%d", i), t.names()...)
				if err != nil {
					return err
				}
				links = append(links, l...)
			}
			errs := make([]error, n)
			var wg sync.WaitGroup
			for i, l := range links {
				// owner: subscribed; ends with the player.
				wg.Go(func() {
					c, err := l.Count()
					if err == nil && c.Messages != t.count {
						err = fmt.Errorf("subscriber %d has %d of %d messages", i, c.Messages, t.count)
					}
					errs[i] = err
				})
			}
			wg.Wait()
			return errors.Join(errs...)
		})
		return err
	})
	return use, err
}
