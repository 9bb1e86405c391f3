package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagjob"
	"github.com/gorosbag/gorosbag/internal/rebag"
)

// jobFlags are the options of every command that writes files.
type jobFlags struct {
	Force bool `short:"f" help:"Overwrite files that exist."`
	Quiet bool `short:"q" help:"Show no progress bar and no summary; damage and errors are told anyway."`
}

// start starts the job of a command.
func (f jobFlags) start(ctx context.Context, out bagjob.Output) *bagjob.Job {
	return bagjob.New(ctx, out, bagjob.Options(f))
}

// packFlags are the options for compression and chunks of the output.
type packFlags struct {
	Compression string `enum:",none,lz4,bz2,zstd" default:"" placeholder:"KIND" help:"Compress chunks with none, lz4 or bz2; in MCAP with none, lz4 or zstd. Default: as the input, zstd in MCAP."`
	ChunkSize   int    `name:"chunksize" default:"768" placeholder:"KiB" help:"Size of a chunk before compression (${default})."`
}

// writerOptions returns the options of a bag made from inputs.
func (f packFlags) writerOptions(inputs bagjob.Inputs) (bagfmt.WriterOptions, error) {
	o := bagfmt.WriterOptions{Compression: bagfmt.Compression(f.Compression), Workers: bagjob.Workers()}
	switch f.Compression {
	case "zstd":
		return o, errors.New("a bag cannot be compressed with zstd; take lz4 or bz2, or write MCAP")
	case "":
		o.Compression = inputs.Compression()
	}
	var err error
	o.ChunkBytes, err = f.chunkBytes()
	return o, err
}

// newMCAP starts an MCAP file.
func (f packFlags) newMCAP(w io.Writer) (rebag.Sink, error) {
	if f.Compression == "bz2" {
		return nil, errors.New("MCAP cannot be compressed with bz2; take zstd, lz4 or none")
	}
	chunk, err := f.chunkBytes()
	if err != nil {
		return nil, err
	}
	return rebag.NewMCAP(w, f.Compression, chunk)
}

// maxChunkKB is 1 GiB: what is larger, readers need not accept.
const maxChunkKB = 1 << 20

func (f packFlags) chunkBytes() (int, error) {
	if f.ChunkSize < 0 || f.ChunkSize > maxChunkKB {
		return 0, fmt.Errorf("--chunksize %d is not between 0 and %d", f.ChunkSize, maxChunkKB)
	}
	return max(f.ChunkSize*1024, 1), nil
}

// sink returns what starts the output that is made from inputs.
func (f packFlags) sink(inputs bagjob.Inputs, mcap bool) func(io.Writer) (rebag.Sink, error) {
	if mcap {
		return f.newMCAP
	}
	return func(w io.Writer) (rebag.Sink, error) {
		o, err := f.writerOptions(inputs)
		if err != nil {
			return nil, err
		}
		return rebag.NewBag(w, o)
	}
}

// wantsMCAP reports whether the output is to be MCAP: by the format that was asked
// for, or by the name.
func wantsMCAP(to, out string) bool {
	return to == "mcap" || to == "" && strings.HasSuffix(out, ".mcap")
}
