//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/figures"
)

const (
	convertPatience = 5 * time.Minute // for one run of gobag or dd
	convertMemory   = 128 << 20       // what gobag may have in memory while it converts
)

// work is what one run of a program on a bag cost.
type work struct {
	cpu, took time.Duration
	memory    int64 // the most that was resident; bytes
}

func (w work) processor() float64 { return w.cpu.Seconds() }

func (w work) seconds() float64 { return w.took.Seconds() }

// withSensor makes the bag in a directory for the row, has it used and deletes all that is there.
func (b *bench) withSensor(s sensor, use func(bag string, bytes int64) error) error {
	dir, err := os.MkdirTemp(b.dir, "row")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // in our temporary directory
	bag := filepath.Join(dir, "in.bag")
	if err := s.write(bag); err != nil {
		return err
	}
	st, err := os.Stat(bag)
	if err != nil {
		return err
	}
	return use(bag, st.Size())
}

// run runs a program. Its standard output is thrown away.
func run(ctx context.Context, command ...string) (work, error) {
	ctx, cancel := context.WithTimeout(ctx, convertPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return work{}, err
	}
	peak := figures.PeakMemory(cmd.Process.Pid)
	err := cmd.Wait()
	took := time.Since(start)
	if err != nil {
		return work{}, fmt.Errorf("%s: %w\n%s", filepath.Base(command[0]), err, errs.String())
	}
	state := cmd.ProcessState
	return work{cpu: state.UserTime() + state.SystemTime(), took: took, memory: peak}, nil
}

// conversion makes a recording of ROS 2 of a bag.
type conversion struct {
	load sensor
	args []string // of gobag convert
	zstd bool     // args, or their lack, have gobag pack with zstd
}

// measure converts, and copies the same bag with dd, which syncs the copy as gobag does, in turn. gobag
// packs as zstd -1, of which the Debian package has the program; without it the copy stands alone.
func (c conversion) measure(ctx context.Context, b *bench, t *figures.Table) error {
	return b.withSensor(c.load, func(bag string, bytes int64) error {
		var ours, plain, packing []work
		out, copied := bag+"_ros2", bag+".copy"
		for range b.rounds {
			w, err := run(ctx, append([]string{b.gobag, "convert", "--quiet", "--to=ros2", bag, out}, c.args...)...)
			if err != nil {
				return err
			}
			ours = append(ours, w)
			if w, err = run(ctx, "dd", "if="+bag, "of="+copied, "bs=1M", "conv=fsync", "status=none"); err != nil {
				return err
			}
			plain = append(plain, w)
			if c.zstd {
				if w, err = run(ctx, "zstd", "-1", "--single-thread", "--quiet", "--stdout", bag); err != nil && !errors.Is(err, exec.ErrNotFound) {
					return err
				}
				w.cpu += plain[len(plain)-1].cpu
				packing = append(packing, w)
			}
			if err := errors.Join(os.RemoveAll(out), os.Remove(copied)); err != nil {
				return err
			}
		}
		perGB := func(w work) float64 { return w.processor() / float64(bytes) * 1e9 }
		t.Note("processor time %.1f times a plain copy (%.2f beside %.2f s/GB)", figures.Ratio(ours, plain, work.processor), figures.Median(ours, perGB), figures.Median(plain, perGB))
		if c.zstd {
			t.Note("%.1f times a plain copy and zstd -1 alone (%.2f s/GB)", figures.Ratio(ours, packing, work.processor), figures.Median(packing, perGB))
		}
		t.Note("time %.1f times a plain copy", figures.Ratio(ours, plain, work.seconds))
		t.Note("%.0f messages a second of one core", float64(c.load.count)/figures.Median(ours, work.processor))
		peak := figures.Most(ours, func(w work) int64 { return w.memory })
		t.Target(peak <= convertMemory, fmt.Sprintf("memory <= %d MiB", convertMemory>>20), "%d MiB", peak>>20)
		return nil
	})
}

// reading reads a bag, and the same messages from other files.
type reading struct {
	load  sensor
	args  []string // of gobag, before the bag
	topic bool     // the topic follows the bag
}

// measure has gobag do the same with the bag and with recordings made of it, in turn.
func (r reading) measure(ctx context.Context, b *bench, t *figures.Table) error {
	return b.withSensor(r.load, func(bag string, _ int64) error {
		others := []struct {
			what, path string
			convert    []string
		}{
			{"MCAP of ROS 1", bag + ".mcap", []string{"--to=mcap", "--compression=none"}},
			{"MCAP of ROS 1, zstd", bag + ".zstd.mcap", []string{"--to=mcap", "--compression=zstd"}},
			{"MCAP of ROS 2", bag + "_mcap", []string{"--to=ros2", "--compression=none"}},
			{"sqlite3 of ROS 2", bag + "_sqlite3", []string{"--to=ros2", "--storage=sqlite3"}},
		}
		for _, o := range others {
			if _, err := run(ctx, append([]string{b.gobag, "convert", "--quiet", bag, o.path}, o.convert...)...); err != nil {
				return err
			}
		}
		base, measured := make([]work, b.rounds), make([][]work, len(others))
		for n := range b.rounds {
			var err error
			if base[n], err = run(ctx, r.command(b, bag)...); err != nil {
				return err
			}
			for i, o := range others {
				w, err := run(ctx, r.command(b, o.path)...)
				if err != nil {
					return err
				}
				measured[i] = append(measured[i], w)
			}
		}
		memory := func(w work) int64 { return w.memory }
		t.Note("the bag: %.2f s of processor time, %d MiB", figures.Median(base, work.processor), figures.Most(base, memory)>>20)
		for i, o := range others {
			t.Note("%s: processor time %.2f times that of the bag, %d MiB", o.what, figures.Ratio(measured[i], base, work.processor), figures.Most(measured[i], memory)>>20)
		}
		return nil
	})
}

func (r reading) command(b *bench, path string) []string {
	command := append([]string{b.gobag}, r.args...)
	command = append(command, path)
	if r.topic {
		command = append(command, r.load.topic)
	}
	return command
}
