package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

const (
	toolMessages = 40_000  // of 1 KiB, in the bags that are packed and reindexed
	infoChunks   = 100_000 // in the bag that is only looked at
)

// toolContests makes bags in dir and lists what both programs do with them.
func toolContests(dir, gobag, rosbag string) ([]contest, error) {
	if _, err := os.Stat(rosbag); err != nil {
		fmt.Println("tools of ROS: not measured:", err)
		return nil, nil
	}
	if _, err := os.Stat(gobag); err != nil {
		return nil, fmt.Errorf("%w: run make build first", err)
	}
	gobag, err := filepath.Abs(gobag)
	if err != nil {
		return nil, err
	}
	plain, killed, chunks := filepath.Join(dir, "plain.bag"), filepath.Join(dir, "killed.bag"), filepath.Join(dir, "chunks.bag")
	if err := makeBag(plain, newInput(toolMessages), bagfmt.WriterOptions{}, false); err != nil {
		return nil, err
	}
	if err := makeBag(killed, newInput(toolMessages), bagfmt.WriterOptions{}, true); err != nil {
		return nil, err
	}
	small := newInput(infoChunks)
	for i := range small.data {
		small.data[i] = small.data[i][:100]
	}
	if err := makeBag(chunks, small, bagfmt.WriterOptions{ChunkBytes: 1}, false); err != nil {
		return nil, err
	}
	rewrite := func(in string, args ...string) (ours, theirs func(context.Context) (work, error)) {
		return rewriteWith(dir, in, gobag, args), rewriteWith(dir, in, rosbag, args)
	}
	lz4 := contest{name: "compress lz4", want: 5, rounds: 5}
	lz4.ours, lz4.theirs = rewrite(plain, "compress", "--lz4", "-q")
	bz2 := contest{name: "compress bz2", want: 1.3, rounds: 3}
	bz2.ours, bz2.theirs = rewrite(plain, "compress", "-j", "-q")
	reindex := contest{name: "reindex", want: 5, rounds: 5}
	reindex.ours, reindex.theirs = rewrite(killed, "reindex", "-q")
	info := contest{
		name: "info of 100,000 chunks", want: 20, within: time.Second, rounds: 3,
		ours:   func(ctx context.Context) (work, error) { return tool(ctx, gobag, "info", chunks) },
		theirs: func(ctx context.Context) (work, error) { return tool(ctx, rosbag, "info", chunks) },
	}
	return []contest{lz4, bz2, info, reindex}, nil
}

// rewriteWith runs a program that writes a bag made from in, with that name, to
// another directory, and counts the messages there.
func rewriteWith(dir, in, program string, args []string) func(context.Context) (work, error) {
	return func(ctx context.Context) (work, error) {
		out, err := os.MkdirTemp(dir, "out")
		if err != nil {
			return work{}, err
		}
		defer os.RemoveAll(out) //nolint:errcheck // it is in the temporary directory
		w, err := tool(ctx, program, append(args[:len(args):len(args)], "--output-dir="+out, in)...)
		if err != nil {
			return w, err
		}
		f, err := os.Open(filepath.Join(out, filepath.Base(in)))
		if err != nil {
			return w, err
		}
		defer f.Close() //nolint:errcheck // only read from
		stat, err := f.Stat()
		if err != nil {
			return w, err
		}
		r, err := bagfmt.NewReader(f, stat.Size(), bagfmt.ReaderOptions{IndexOnly: true})
		if err != nil {
			return w, err
		}
		w.messages = int64(r.Info().Messages)
		if w.messages != toolMessages {
			return w, fmt.Errorf("%s: %d messages, want %d", program, w.messages, toolMessages)
		}
		return w, nil
	}
}

// tool measures one run of a program.
func tool(ctx context.Context, program string, args ...string) (work, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	// The Python of ROS is the system's.
	cmd.Env = append(os.Environ(), "PATH=/usr/bin:"+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return work{}, fmt.Errorf("%s %s: %w: %.500s", filepath.Base(program), args[0], err, out.Bytes())
	}
	return work{took: time.Since(start)}, nil
}

// makeBag writes a bag. That of a killed recorder ends after its last chunk.
func makeBag(path string, in *input, o bagfmt.WriterOptions, killed bool) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // the second time; it tells nothing new
	var w io.Writer = f
	if killed {
		w = struct{ io.Writer }{f} // its header cannot be completed
	}
	bw, err := writeMessages(w, in, o)
	if err != nil {
		return err
	}
	if killed {
		if err := f.Truncate(bw.Size()); err != nil {
			return err
		}
	}
	return f.Close()
}
