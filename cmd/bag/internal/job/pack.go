package job

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Packing says how an output is packed. Its errors name the options of the commands.
type Packing struct {
	// none, lz4 or bz2; in MCAP none, lz4 or zstd; empty: as the inputs, but zstd in MCAP that is made of
	// bags
	Compression string
	// of a chunk before compression, KiB; nil: 768, but chunks of MCAP that is made of MCAP may stay as large
	// as they are
	ChunkSize *int
}

// chunkKiB is the size of a chunk if the user names none.
const chunkKiB = 768

// maxChunkKB is 1 GiB: what is larger, readers need not accept.
const maxChunkKB = 1 << 20

// ChunkBytes returns the size of a chunk before compression.
func (p Packing) ChunkBytes() (int, error) {
	size := chunkKiB
	if p.ChunkSize != nil {
		size = *p.ChunkSize
	}
	if size < 0 || size > maxChunkKB {
		return 0, fmt.Errorf("--chunksize %d is not between 0 and %d", size, maxChunkKB)
	}
	return max(size*1024, 1), nil
}

// WriterOptions returns the options of a bag made from inputs.
func (p Packing) WriterOptions(inputs Inputs) (bagfmt.WriterOptions, error) {
	o := bagfmt.WriterOptions{Compression: rosbag.Compression(p.Compression), Workers: Workers()}
	switch p.Compression {
	case "zstd":
		return o, errors.New("a bag cannot be compressed with zstd; take lz4 or bz2, or write MCAP")
	case "":
		o.Compression = inputs.compression(false)
	}
	var err error
	o.ChunkBytes, err = p.ChunkBytes()
	return o, err
}

// Sink returns what starts the output that is made from inputs: MCAP or a bag.
func (p Packing) Sink(inputs Inputs, mcap bool) func(io.Writer) (rosbag.Sink, error) {
	if mcap {
		return func(w io.Writer) (rosbag.Sink, error) { return p.newMCAP(w, inputs) }
	}
	return func(w io.Writer) (rosbag.Sink, error) {
		o, err := p.WriterOptions(inputs)
		if err != nil {
			return nil, err
		}
		return rewrite.NewBag(w, o)
	}
}

// newMCAP starts an MCAP file that is made from inputs.
func (p Packing) newMCAP(w io.Writer, inputs Inputs) (rosbag.Sink, error) {
	if p.Compression == "bz2" {
		return nil, errors.New("MCAP cannot be compressed with bz2; take zstd, lz4 or none")
	}
	chunk, err := p.ChunkBytes()
	if err != nil {
		return nil, err
	}
	o := rewrite.MCAPOptions{
		Compression: p.Compression, ChunkBytes: chunk, Workers: Workers(),
		KeepIDs: slices.ContainsFunc(inputs,
			func(in *bags.Recording) bool { return in.MCAP() != nil }),
		AnyCompression: p.Compression == "", AnySize: p.ChunkSize == nil,
	}
	if o.AnyCompression {
		o.Compression = string(inputs.compression(true))
	}
	return rewrite.NewMCAP(w, o)
}

// compression returns the most frequent compression of the chunks of the inputs. For a bag, lz4 stands
// for zstd, which bags do not have; for MCAP, zstd stands for what bags have.
func (all Inputs) compression(mcap bool) rosbag.Compression {
	count := make(map[rosbag.Compression]int)
	best := rosbag.CompressionNone
	if mcap {
		best = rosbag.CompressionZstd
	}
	for _, in := range all {
		bag := in.Bag()
		if bag == nil || bag.MCAP() == nil && (mcap || bag.Info().Version != "2.0") {
			continue
		}
		chunks := bag.NumSpans()
		for n := range min(chunks, 100) { // a sample is enough
			h, err := bag.ChunkHeader(n)
			if h.Compression == rosbag.CompressionZstd && !mcap {
				h.Compression = rosbag.CompressionLZ4 // bags have nothing closer to it
			}
			if _, e := rosbag.ParseCompression(string(h.Compression)); err != nil || e != nil &&
				h.Compression != rosbag.CompressionZstd {
				continue
			}
			count[h.Compression]++
			if count[h.Compression] > count[best] {
				best = h.Compression
			}
		}
	}
	return best
}
