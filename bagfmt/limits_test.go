package bagfmt

import (
	"math/rand/v2"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestLimitsFit checks that readers can be told to accept all that writers can produce.
func TestLimitsFit(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine fills and reads large bags")
	t.Parallel()
	incompressible := make([]byte, 1<<20) // the smaller, the more the frame around it weighs
	rnd := rand.NewChaCha8([32]byte{1})
	_, _ = rnd.Read(incompressible)
	for _, comp := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4, rosbag.CompressionBZ2} {
		z, err := codec.NewCompressor(comp)
		if err != nil {
			t.Fatal(err)
		}
		out := z.Append(nil, incompressible)
		growth := float64(len(out)) / float64(len(incompressible))
		if worst := growth * wire.MaxBuiltChunkBytes; worst > wire.HardMaxChunkBytes {
			t.Errorf("%s: a chunk may take %.0f bytes, readers accept %d at most", comp, worst, wire.HardMaxChunkBytes)
		}
	}
	// What the command line allows: chunks of 1 GiB and the largest message of all.
	if _, err := (WriterOptions{ChunkBytes: 1 << 30}).withDefaults(); err != nil {
		t.Error(err)
	}
	if wire.MaxConnectionBytes < wire.MaxHeaderBytes {
		t.Error("a connection header from the wire does not fit its record")
	}
}

// TestHeaderLengths checks the constant of the chunk builder's headroom.
func TestHeaderLengths(t *testing.T) {
	t.Parallel()
	if n := len(wire.AppendChunkHeader(nil, rosbag.CompressionNone, 1, 2, 3)); n != wire.ChunkHeadroom || n != wire.ChunkHeaderBytes(rosbag.CompressionNone) {
		t.Errorf("chunk header of %d bytes, headroom %d", n, wire.ChunkHeadroom)
	}
}
