//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/gorosbag/gorosbag/test/bench/figures"
)

// rewriting has gobag read a bag of chunks that are packed in a way, in turn with a plain copy of it, or with the same for
// chunks of the usual size.
type rewriting struct {
	load  sensor
	pack  string   // option of gobag filter that makes the bag
	mcap  bool     // what is read, and written, is an MCAP file
	args  []string // of gobag, before the bag
	out   bool     // gobag writes another bag
	small bool     // compare with the messages in chunks of the usual size
	most  float64  // times the processor time of what it is compared with
}

func (r rewriting) measure(ctx context.Context, b *bench, t *figures.Table) error {
	return b.withSensor(r.load, func(usual string, _ int64) error {
		bag, copied := usual+".packed.bag", usual+".copy.bag"
		if r.mcap {
			bag, copied = usual+".packed.mcap", usual+".copy.mcap"
		}
		if _, err := run(ctx, b.gobag, "filter", r.pack, usual, bag); err != nil {
			return err
		}
		read := func(path string) (work, error) {
			if r.out {
				return run(ctx, append(append([]string{b.gobag}, r.args...), path, copied)...)
			}
			return run(ctx, append(append([]string{b.gobag}, r.args...), path)...)
		}
		var ours, base []work
		for range b.rounds {
			w, err := read(bag)
			if err != nil {
				return err
			}
			ours = append(ours, w)
			if err := os.Remove(copied); r.out && err != nil {
				return err
			}
			if r.small {
				w, err = read(usual)
			} else {
				w, err = run(ctx, "dd", "if="+bag, "of="+copied, "bs=1M", "conv=fsync", "status=none")
			}
			if err != nil {
				return err
			}
			base = append(base, w)
			if err := os.Remove(copied); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		what := "a plain copy"
		if r.small {
			what = "that of chunks of the usual size"
		}
		got := figures.Ratio(ours, base, work.processor)
		t.Target(got <= r.most, fmt.Sprintf("processor time <= %.0f times %s", r.most, what), "%.1f", got)
		return nil
	})
}
